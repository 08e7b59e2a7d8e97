x <- numeric(4e9)
print(length(x))
