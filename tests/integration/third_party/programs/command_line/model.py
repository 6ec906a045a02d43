"""Softmax regression, and how it is trained."""

import numpy as np
from data import load


class Softmax:
    """Softmax regression, trained by gradient descent with momentum."""

    def __init__(self, features, classes, lr, momentum):
        self.weights = np.zeros((features + 1, classes))
        self.velocity = np.zeros_like(self.weights)
        self.lr = lr
        self.momentum = momentum

    def probabilities(self, points):
        scores = np.c_[points, np.ones(len(points))] @ self.weights
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        return scores / scores.sum(axis=1, keepdims=True)

    def fit_epoch(self, points, labels):
        errors = self.probabilities(points)
        errors[np.arange(len(labels)), labels] -= 1
        gradient = np.c_[points, np.ones(len(points))].T @ errors / len(labels)
        self.velocity = self.momentum * self.velocity - self.lr * gradient
        self.weights += self.velocity

    def loss(self, points, labels):
        return -np.log(self.probabilities(points)[np.arange(len(labels)), labels]).mean()


def train(lr, momentum, epochs):
    """Prints a line for each epoch."""
    (train_x, train_y), (valid_x, valid_y) = load()
    model = Softmax(2, 3, lr, momentum)
    for epoch in range(epochs):
        model.fit_epoch(train_x, train_y)
        print(f"epoch {epoch}: train_loss={model.loss(train_x, train_y)} val_loss={model.loss(valid_x, valid_y)}")
