"""Shuffled batches of tensors."""

import torch


def batches(inputs, targets, size):
    for rows in torch.randperm(len(inputs)).split(size):
        yield inputs[rows], targets[rows]
