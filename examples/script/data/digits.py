"""scikit-learn's digits, split for training and validation."""

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


def load(device):
    pixels, labels = load_digits(return_X_y=True)
    split = train_test_split(pixels / 16, labels, test_size=0.3, random_state=0)
    train_x, valid_x = (torch.tensor(part, dtype=torch.float32, device=device) for part in split[:2])
    train_y, valid_y = (torch.tensor(part, device=device) for part in split[2:])
    return (train_x, train_y), (valid_x, valid_y)
