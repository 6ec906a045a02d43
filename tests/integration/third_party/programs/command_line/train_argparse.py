"""python train_argparse.py --lr 0.1 --momentum 0.9"""

import argparse

from model import train


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--momentum", type=float, default=0.0)
    parser.add_argument("--epochs", type=int, default=4)
    args = parser.parse_args()
    train(args.lr, args.momentum, args.epochs)


if __name__ == "__main__":
    main()
