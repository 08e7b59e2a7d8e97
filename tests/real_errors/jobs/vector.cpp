#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int, char **argv) {
    std::vector<char> v(std::strtoull(argv[1], nullptr, 10), 1);
    std::printf("%zu\n", v.size());
}
