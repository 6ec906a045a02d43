"""A plain training script on scikit-learn's digits: arguments in, a line for each epoch out; no word of Podium.

python train.py --lr 0.01 --hidden 64
"""

import argparse

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--hidden", type=int, default=32)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=6)
    args = parser.parse_args()

    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    pixels, labels = load_digits(return_X_y=True)
    split = train_test_split(pixels / 16, labels, test_size=0.3, random_state=0)
    train_x, valid_x = (torch.tensor(part, dtype=torch.float32, device=device) for part in split[:2])
    train_y, valid_y = (torch.tensor(part, device=device) for part in split[2:])

    model = nn.Sequential(nn.Linear(64, args.hidden), nn.ReLU(), nn.Linear(args.hidden, 10)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        for rows in torch.randperm(len(train_x)).split(args.batch_size):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(train_x[rows]), train_y[rows]).backward()
            optimizer.step()
        with torch.no_grad():
            outputs = model(valid_x)
        loss = nn.functional.cross_entropy(outputs, valid_y).item()
        accuracy = (outputs.argmax(dim=1) == valid_y).float().mean().item()
        print(f"epoch {epoch}: valid loss {loss:.4f}, accuracy {accuracy:.4f}")
    torch.save(model.state_dict(), "model.pt")


if __name__ == "__main__":
    main()
