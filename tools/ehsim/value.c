// SPDX-License-Identifier: GPL-2.0-or-later
#include "value.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "eh/rule.h"

int value_tasks(const char *text, uint64_t max, uint64_t *out)
{
	uint64_t value = 0, unit = EH_TASK;
	const char *p = text;
	bool round = false;

	if (*p < '0' || *p > '9')
		return -EINVAL;
	for (; *p >= '0' && *p <= '9'; p++) {
		value = value * 10 + (uint64_t)(*p - '0');
		if (value > max / EH_TASK)
			return -EINVAL;
	}
	value *= EH_TASK;
	if (*p == '.') {
		if (p[1] < '0' || p[1] > '9')
			return -EINVAL;
		for (p++; *p >= '0' && *p <= '9'; p++) {
			if (unit == 1) {
				round = *p >= '5';
				p += strspn(p, "0123456789");
				break;
			}
			unit /= 10;
			value += (uint64_t)(*p - '0') * unit;
		}
	}
	value += round;
	if (*p || value > max)
		return -EINVAL;
	*out = value;
	return 0;
}

int value_node(const struct eh_topology *topology, const char *text, uint32_t *out)
{
	struct eh_code code;
	unsigned long index;
	char *end;

	if (strchr(text, '.') || (text[0] == '0' && text[1])) {
		if (eh_code_parse(topology, text, &code) || code.level)
			return -EINVAL;
		*out = code.index;
		return 0;
	}
	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	index = strtoul(text, &end, 10);
	if (errno || *end || index >> topology->n * topology->l)
		return -EINVAL;
	*out = (uint32_t)index;
	return 0;
}
