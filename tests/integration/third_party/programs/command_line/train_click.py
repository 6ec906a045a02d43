"""python train_click.py --lr 0.1 --momentum 0.9"""

import click
from model import train


@click.command()
@click.option("--lr", default=0.1, show_default=True, help="step size")
@click.option("--momentum", default=0.0, type=click.FloatRange(0, 1))
@click.option("--epochs", default=4)
def main(lr, momentum, epochs):
    train(lr, momentum, epochs)


if __name__ == "__main__":
    main()
