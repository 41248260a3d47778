// SPDX-License-Identifier: GPL-2.0-or-later
/* The nodes a member knows of, sorted by number, and which of them are silent. */
#include "known.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

size_t eh_known_place(const struct eh_member *m, uint32_t node)
{
	size_t low = 0, high = m->nknown;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (m->known[middle].node < node)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct known *eh_known_find(const struct eh_member *m, uint32_t node)
{
	size_t i = eh_known_place(m, node);

	return i < m->nknown && m->known[i].node == node ? &m->known[i] : NULL;
}

int eh_known_add(struct eh_member *m, uint32_t node)
{
	size_t i = eh_known_place(m, node);
	struct known *more;

	if (i < m->nknown && m->known[i].node == node)
		return 0;
	more = realloc(m->known, (m->nknown + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	m->known = more;
	memmove(more + i + 1, more + i, (m->nknown - i) * sizeof(*more));
	more[i] = (struct known){ .node = node };
	m->nknown++;
	return 0;
}

void eh_known_remove(struct eh_member *m, uint32_t node)
{
	struct known *k = eh_known_find(m, node);

	if (!k)
		return;
	m->nknown--;
	memmove(k, k + 1, (char *)(m->known + m->nknown) - (char *)k);
}

void eh_known_alive(struct eh_member *m, uint32_t node)
{
	struct known *k = eh_known_find(m, node);

	if (k)
		k->backoff = k->suspect_until = 0;
}

void eh_known_suspect(struct eh_member *m, uint32_t node)
{
	struct known *k = eh_known_find(m, node);

	if (!k)
		return;
	k->backoff = k->backoff ? 2 * k->backoff : m->options.heartbeat_ms / 2 + 1;
	if (k->backoff > 4 * m->options.heartbeat_ms)
		k->backoff = 4 * m->options.heartbeat_ms;
	k->suspect_until = m->now + k->backoff;
	k->failed = true;
}
