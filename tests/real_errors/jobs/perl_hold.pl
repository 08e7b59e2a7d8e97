my @held;
push @held, "x" x (64 << 20) for 1 .. $ARGV[0];
print scalar(@held), "\n";
