// SPDX-License-Identifier: GPL-2.0-or-later
#include "tokens.h"

#include "slots.h"

/* Tokens that nobody who lives can have, in several looks: not one that is just being taken or put back. */
static void tokens_miss(struct eh_tokens *t, unsigned int taken, unsigned int held)
{
	const unsigned int missing = taken > held ? taken - held : 0;

	if (!missing) {
		t->misses = 0;
		return;
	}
	t->missing = t->misses && t->missing < missing ? t->missing : missing;
	if (++t->misses < EH_TOKENS_LOOKS)
		return;
	t->made -= t->missing;
	t->lost += t->missing;
	t->misses = 0;
}

int eh_tokens_look(struct eh_tokens *t, unsigned int free, unsigned int held)
{
	unsigned int taken;

	if (free > t->made) {
		t->doubled += free - t->made;
		t->made = free;
	}
	taken = t->made - free;
	if (held != EH_TOKENS_UNKNOWN)
		tokens_miss(t, taken, held);
	t->peak = taken > t->peak ? taken : t->peak;
	t->dry |= !free;
	if (t->made <= t->should)
		return (int)(t->should - t->made);
	return -(int)(t->made - t->should < free ? t->made - t->should : free);
}

void eh_tokens_done(struct eh_tokens *t, int done)
{
	t->made += done;
}

unsigned int eh_tokens_owed(const struct eh_tokens *t)
{
	return t->made > t->should ? t->made - t->should : 0;
}

/* A build that used all may need many more; one that did not, few. */
unsigned int eh_tokens_wants(struct eh_tokens *t)
{
	const unsigned int used = t->peak + 1;
	unsigned int wants = t->dry ? 2 * used + 1 : used + used / 4 + 1;

	t->peak = 0;
	t->dry = false;
	return wants < EH_SLOTS_MAX ? wants : EH_SLOTS_MAX;
}

void eh_tokens_granted(struct eh_tokens *t, unsigned int slots)
{
	slots = slots < EH_SLOTS_MAX ? slots : EH_SLOTS_MAX;
	t->should = slots ? slots - 1 : 0;
}
