// SPDX-License-Identifier: GPL-2.0-or-later
#include "protocol.h"

#include <stdio.h>

void protocol_add(struct protocol *to, const struct protocol *from)
{
	for (size_t i = 0; i < EH_MSG_TYPES; i++)
		to->messages[i] += from->messages[i];
	to->at_top += from->at_top;
	to->asked += from->asked;
	to->home += from->home;
	to->away += from->away;
	to->reserved += from->reserved;
	to->late += from->late;
	to->lost += from->lost;
	to->nowhere += from->nowhere;
	to->killed += from->killed;
	to->orphaned += from->orphaned;
	to->time += from->time;
	if (from->longest > to->longest)
		to->longest = from->longest;
}

/* Messages per placement: up, back, and the reservation with its answer. */
static double protocol_per_ask(const struct protocol *p)
{
	uint64_t all = p->messages[EH_MSG_ASK] + p->messages[EH_MSG_ANSWER] + 2 * p->reserved;

	return p->asked ? (double)all / (double)p->asked : 0;
}

json_t *protocol_json(const struct protocol *p, uint64_t runs)
{
	json_t *messages = json_object();
	double n = (double)runs;

	for (size_t i = 0; i < EH_MSG_TYPES; i++)
		json_object_set_new(messages, eh_message_name(i),
				    json_real((double)p->messages[i] / n));
	json_object_set_new(messages, "reservation", json_real((double)p->reserved * 2 / n));
	return json_pack("{s:o,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:{s:f,s:f},s:f}", "messages",
			 messages, "at_top", (double)p->at_top / n, "per_ask", protocol_per_ask(p),
			 "asked", (double)p->asked / n, "home", (double)p->home / n, "away",
			 (double)p->away / n, "late", (double)p->late / n, "lost",
			 (double)p->lost / n, "nowhere", (double)p->nowhere / n, "killed",
			 (double)p->killed / n, "without_controller", "mean", p->orphaned / n,
			 "longest", p->longest, "time", p->time / n);
}

void protocol_print(const struct protocol *p, uint64_t runs)
{
	double n = (double)runs;

	printf("ran at home, elsewhere                   %.1f, %.1f\n", (double)p->home / n,
	       (double)p->away / n);
	printf("too late an answer, lost, at dead nodes  %.2f, %.2f, %.2f; %.1f nodes died\n",
	       (double)p->late / n, (double)p->lost / n, (double)p->nowhere / n,
	       (double)p->killed / n);
	printf("time without a controller                %.2f for a node, %.2f at the longest, of %.1f\n",
	       p->orphaned / n, p->longest, p->time / n);
	printf("messages:");
	for (size_t i = 0; i < EH_MSG_TYPES; i++)
		printf(" %s %.1f,", eh_message_name(i), (double)p->messages[i] / n);
	printf(" reservation %.1f; %.2f for an ask\n", (double)p->reserved * 2 / n,
	       protocol_per_ask(p));
}
