"""python train_fire.py --lr 0.1 --momentum 0.9"""

import fire
from model import train


def main(lr=0.1, momentum=0.0, epochs=4):
    train(lr, momentum, epochs)


if __name__ == "__main__":
    fire.Fire(main)
