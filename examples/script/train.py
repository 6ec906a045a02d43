"""A plain training script on scikit-learn's digits: takes arguments, prints a line per epoch, independent of Podium.

python train.py --lr 0.01 --hidden 64
"""

import argparse

import torch
from torch import nn

from data import batches, load
from model import build


def train(model, optimizer, inputs, targets, batch_size):
    for batch_x, batch_y in batches(inputs, targets, batch_size):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(batch_x), batch_y).backward()
        optimizer.step()


@torch.no_grad()
def validate(model, inputs, targets):
    outputs = model(inputs)
    accuracy = (outputs.argmax(dim=1) == targets).float().mean().item()
    return nn.functional.cross_entropy(outputs, targets).item(), accuracy


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--hidden", type=int, default=32)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=6)
    args = parser.parse_args()

    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    training, validation = load(device)
    model = build(args.hidden).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        train(model, optimizer, *training, args.batch_size)
        loss, accuracy = validate(model, *validation)
        print(f"epoch {epoch}: valid loss {loss:.4f}, accuracy {accuracy:.4f}")
    torch.save(model.state_dict(), "model.pt")


if __name__ == "__main__":
    main()
