import os, time
def computes(trial):
    while time.process_time() < 1.5: pass
    with open('big', 'wb') as file:
        file.write(bytes(8 << 20)); os.fsync(file.fileno())
    time.sleep(1.3)
    return 0.0
def grows(trial):
    blocks = []
    while True:
        blocks.append(bytearray(b'x') * (4 << 20)); time.sleep(0.02)
def ends(trial):
    return 0.0
