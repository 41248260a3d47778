// SPDX-License-Identifier: GPL-2.0-or-later
/* Codes of nodes and controllers as text, and the paths between them. */
#include "topology.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "rule.h"

/* Decimal digits only (strtoul would take blanks, signs and more digits than fit). */
static int topology_parse_number(const char **text, unsigned int max, unsigned int *out)
{
	const char *p = *text;
	unsigned int v = 0;

	if (*p < '0' || *p > '9' || (*p == '0' && p[1] >= '0' && p[1] <= '9'))
		return -EINVAL;
	while (*p >= '0' && *p <= '9') {
		v = v * 10 + (*p++ - '0');
		if (v > max)
			return -EINVAL;
	}
	*text = p;
	*out = v;
	return 0;
}

int eh_topology_parse(const char *text, struct eh_topology *out)
{
	struct eh_topology t;

	if (topology_parse_number(&text, EH_N_MAX, &t.n) || *text++ != ',' ||
	    topology_parse_number(&text, EH_LEVELS_MAX, &t.l) || *text)
		return -EINVAL;
	if (!t.n || !t.l || t.n * t.l > EH_BITS_MAX)
		return -EINVAL;
	*out = t;
	return 0;
}

/* The paper's form: the top is "0", each further octal digit is one level down. */
static int topology_parse_octal(const struct eh_topology *t, const char *text, struct eh_code *out)
{
	size_t length = strlen(text);
	uint32_t index = 0;

	if (t->n != 3 || text[0] != '0' || length < 2 || length > t->l + 1)
		return -EINVAL;
	for (size_t i = 1; i < length; i++) {
		if (text[i] < '0' || text[i] > '7')
			return -EINVAL;
		index = index << 3 | (uint32_t)(text[i] - '0');
	}
	out->level = t->l - (length - 1);
	out->index = index;
	return 0;
}

int eh_code_parse(const struct eh_topology *t, const char *text, struct eh_code *out)
{
	struct eh_code code = { .level = t->l };
	unsigned int digit;

	if (text[0] == '0' && text[1] >= '0' && text[1] <= '9')
		return topology_parse_octal(t, text, out);
	if (text[0] != '0')
		return -EINVAL;
	text++;
	while (*text) {
		if (!code.level || *text++ != '.' ||
		    topology_parse_number(&text, (1u << t->n) - 1, &digit))
			return -EINVAL;
		code = eh_code_child(t, code, digit);
	}
	*out = code;
	return 0;
}

static char *topology_format(const struct eh_topology *t, struct eh_code code, char *out,
			     const char *dot)
{
	char *p = out;

	*p++ = '0';
	*p = '\0';
	for (unsigned int level = t->l; level-- > code.level;) {
		unsigned int shift = t->n * (level - code.level);

		p += sprintf(p, "%s%u", dot, code.index >> shift & ((1u << t->n) - 1));
	}
	return out;
}

char *eh_code_format(const struct eh_topology *t, struct eh_code code, char out[EH_CODE_TEXT])
{
	return topology_format(t, code, out, ".");
}

char *eh_code_format_octal(const struct eh_topology *t, struct eh_code code, char out[EH_CODE_TEXT])
{
	return topology_format(t, code, out, t->n == 3 ? "" : ".");
}

struct eh_code eh_code_parent(const struct eh_topology *t, struct eh_code code)
{
	if (code.level == t->l)
		return code;
	return (struct eh_code){ .level = code.level + 1, .index = code.index >> t->n };
}

struct eh_code eh_code_child(const struct eh_topology *t, struct eh_code code, unsigned int digit)
{
	return (struct eh_code){ .level = code.level - 1, .index = code.index << t->n | digit };
}

struct eh_code eh_code_neighbour(struct eh_code code, unsigned int bit)
{
	code.index ^= 1u << bit;
	return code;
}

int eh_path(const struct eh_topology *t, struct eh_code from, struct eh_code to, uint64_t seed,
	    struct eh_code out[EH_PATH_MAX])
{
	unsigned int up = 0, hops = 0, length = 0, bits[EH_N_MAX];

	if (from.level != to.level || from.level > t->l ||
	    from.index >> t->n * (t->l - from.level) || to.index >> t->n * (t->l - to.level))
		return -EINVAL;
	while ((from.index ^ to.index) >> t->n * (up + 1))
		up++;
	for (unsigned int bit = 0; bit < t->n; bit++)
		if ((from.index ^ to.index) >> t->n * up >> bit & 1)
			bits[hops++] = bit;
	for (unsigned int i = 0; i < up; i++, from = eh_code_parent(t, from))
		out[length++] = from;
	out[length++] = from;
	/* the bits in a random order (Fisher and Yates) */
	for (unsigned int left = hops; left; left--) {
		unsigned int k = eh_random_below(&seed, left);

		from = eh_code_neighbour(from, bits[k]);
		out[length++] = from;
		bits[k] = bits[left - 1];
	}
	for (unsigned int i = up; i; i--)
		out[length++] = (struct eh_code){ to.level + i - 1, to.index >> t->n * (i - 1) };
	return (int)length;
}
