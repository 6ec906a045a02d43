"""A script that only prints."""

print("loss=0.5")
