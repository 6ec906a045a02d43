"""python train_jsonargparse.py --lr 0.1 --momentum 0.9"""

from jsonargparse import auto_cli
from model import train


def main(lr: float = 0.1, momentum: float = 0.0, epochs: int = 4):
    """Train softmax regression.

    Args:
        lr: step size
        momentum: share of the last step that is kept
        epochs: passes over the data
    """
    train(lr, momentum, epochs)


if __name__ == "__main__":
    auto_cli(main)
