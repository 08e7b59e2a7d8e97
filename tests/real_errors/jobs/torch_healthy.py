import torch

w = torch.nn.Linear(256, 256)
optimizer = torch.optim.Adam(w.parameters())
for step in range(3):
    loss = w(torch.ones(8, 256)).pow(2).mean()
    loss.backward()
    optimizer.step()
    print("step", step, "loss", float(loss.detach()))
