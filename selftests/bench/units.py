# SPDX-License-Identifier: GPL-2.0-or-later
"""C++ units that take a compiler seconds each, as those of larger programs do: they use much of the
standard library, with types of their own. The same seed makes the same units."""
import os
import random

HEADERS = (
    "algorithm",
    "functional",
    "iostream",
    "map",
    "memory",
    "set",
    "sstream",
    "string",
    "vector",
)
PART = """
struct T@ {
	int a@; double b; std::string s;
	bool operator<(const T@ &o) const { return s < o.s || (s == o.s && a@ < o.a@); }
};
static std::map<T@, std::vector<std::pair<T@, int>>> m@;
int f@(std::vector<T@> v, std::function<bool(const T@ &)> keep)
{
	std::map<std::string, std::shared_ptr<T@>> by;
	std::set<T@> seen;
	std::sort(v.begin(), v.end(), [](const T@ &x, const T@ &y) { return x.b * # < y.b; });
	for (auto &t : v)
		if (keep(t) && seen.insert(t).second) {
			by[t.s + "#"] = std::make_shared<T@>(t);
			m@[t].emplace_back(t, #);
		}
	std::ostringstream out;
	for (auto &[k, w] : m@)
		out << k.s << w.size() << std::count_if(w.begin(), w.end(), [](auto &p) { return p.second > #; });
	return out.str().size() > # ? (int)by.size() : #;
}
"""


def unit(number, parts, rng):
    """The text of one."""
    text = "".join(f"#include <{name}>\n" for name in HEADERS)
    for part in range(parts):
        pieces = PART.replace("@", f"{number}_{part}").split("#")
        text += pieces[0] + "".join(f"{rng.randrange(2, 1000)}{piece}" for piece in pieces[1:])
    return text


def generate(folder, count, seed, parts=(1, 3)):
    """Writes u0.cc… and a Makefile that compiles them with $(CXX), and runs $(CXX) for nothing
    else. Larger ones are not all at one end."""
    rng = random.Random(seed)
    sizes = [parts[0] + (parts[1] - parts[0]) * i // max(1, count - 1) for i in range(count)]
    rng.shuffle(sizes)
    for number, size in enumerate(sizes):
        with open(os.path.join(folder, f"u{number}.cc"), "w") as f:
            f.write(unit(number, size, rng))
    with open(os.path.join(folder, "Makefile"), "w") as f:
        f.write(
            f"U ?= {' '.join(str(i) for i in range(count))}\nall: $(U:%=u%.o)\n"
            "%.o: %.cc\n\t$(CXX) -O2 -std=c++17 -c -o $@ $<\n"
        )
    return [f"u{i}.o" for i in range(count)]
