// SPDX-License-Identifier: GPL-2.0-or-later
#include "timing.h"

#include <string.h>

#define TIMING_HOME false
#define TIMING_THERE true

static const struct timing_word {
	bool there;
	const char *name, *process, *text;
} timing_words[TIMING_STEPS] = {
	[TIMING_STUB] = { TIMING_HOME, "stub", "stub", "the stub begins" },
	[TIMING_JOB] = { TIMING_HOME, "job", "ehagent", "the job arrives" },
	[TIMING_ASKED] = { TIMING_HOME, "asked", "ehagent", "the module asks for a place" },
	[TIMING_LOOK] = { TIMING_HOME, "look", "ehagent",
			  "the agent asks ehlook about the program" },
	[TIMING_LOOKED] = { TIMING_HOME, "looked", "ehagent", "ehlook answers" },
	[TIMING_SEEK] = { TIMING_HOME, "seek", "ehagent", "the agent seeks a node" },
	[TIMING_FOUND] = { TIMING_HOME, "found", "ehagent", "a node is found" },
	[TIMING_SENT] = { TIMING_HOME, "sent", "ehagent", "the agent sends the request" },
	[TIMING_CAME] = { TIMING_THERE, "came", "ehagent", "the request arrives" },
	[TIMING_LOOK_THERE] = { TIMING_THERE, "look-there", "ehagent",
				"the agent asks ehlook about the program" },
	[TIMING_LOOKED_THERE] = { TIMING_THERE, "looked-there", "ehagent", "ehlook answers" },
	[TIMING_ADMITTED] = { TIMING_THERE, "admitted", "ehagent", "the task gets a place" },
	[TIMING_ANSWERED] = { TIMING_HOME, "answered", "ehagent", "the answer arrives" },
	[TIMING_VERDICT] = { TIMING_HOME, "verdict", "ehagent", "the agent tells the module" },
	[TIMING_JOB_SENT] = { TIMING_HOME, "job-sent", "ehagent", "the agent sends the job" },
	[TIMING_JOB_CAME] = { TIMING_THERE, "job-came", "ehagent", "the job arrives" },
	[TIMING_VIEW] = { TIMING_THERE, "view", "ehagent", "home's files are mounted" },
	[TIMING_LAUNCH] = { TIMING_THERE, "launch", "ehagent",
			    "the agent asks ehlaunch for an end" },
	[TIMING_END] = { TIMING_THERE, "end", "ehguest", "the end begins" },
	[TIMING_LAUNCHED] = { TIMING_THERE, "launched", "ehagent", "ehlaunch answers" },
	[TIMING_COMPARED] = { TIMING_THERE, "compared", "ehguest",
			      "the end has compared the files" },
	[TIMING_LINKED] = { TIMING_HOME, "linked", "ehagent",
			    "the agent hears that the end is there" },
	[TIMING_READY_SAID] = { TIMING_THERE, "ready-said", "ehguest", "the end says READY" },
	[TIMING_READY] = { TIMING_HOME, "ready", "stub", "READY arrives" },
	[TIMING_GO] = { TIMING_HOME, "go", "stub", "the stub says GO" },
	[TIMING_GO_CAME] = { TIMING_THERE, "go-came", "ehguest", "GO arrives" },
	[TIMING_EXECUTED] = { TIMING_THERE, "executed", "ehguest", "the program is executed" },
	[TIMING_STARTED] = { TIMING_HOME, "started", "stub", "STARTED arrives" },
	[TIMING_EXITED] = { TIMING_THERE, "exited", "ehguest", "the program has ended" },
	[TIMING_EXIT] = { TIMING_HOME, "exit", "stub", "EXIT arrives" },
	[TIMING_ENDED] = { TIMING_HOME, "ended", "ehagent", "the stub tells the end" },
	[TIMING_OVER] = { TIMING_HOME, "over", "ehagent", "the stub has gone" },
	[TIMING_GONE] = { TIMING_THERE, "gone", "ehagent", "the end has gone" },
};

/* What one host sends and the other one gets, in order. */
static const struct timing_message {
	enum timing_step home, there;
	bool goes; /* to the executor; else it comes from there */
} timing_messages[] = {
	{ TIMING_SENT, TIMING_CAME, true },	    { TIMING_ANSWERED, TIMING_ADMITTED, false },
	{ TIMING_JOB_SENT, TIMING_JOB_CAME, true }, { TIMING_LINKED, TIMING_LAUNCHED, false },
	{ TIMING_LINKED, TIMING_COMPARED, false },  { TIMING_READY, TIMING_READY_SAID, false },
	{ TIMING_GO, TIMING_GO_CAME, true },	    { TIMING_STARTED, TIMING_EXECUTED, false },
	{ TIMING_EXIT, TIMING_EXITED, false },
};

#define TIMING_MESSAGES (sizeof(timing_messages) / sizeof(*timing_messages))

bool timing_is_there(enum timing_step step)
{
	return timing_words[step].there;
}

const char *timing_name(enum timing_step step)
{
	return timing_words[step].name;
}

const char *timing_text(enum timing_step step)
{
	return timing_words[step].text;
}

const char *timing_process(enum timing_step step)
{
	return timing_words[step].process;
}

void timing_told(struct timing *t, enum timing_step step, uint64_t us, enum timing_step after,
		 uint64_t now)
{
	if (us && us >= t->us[after] && us <= now)
		t->us[step] = us;
}

/* ---- between agents ---- */

/* The first of the executor's; 0: there is none. */
static uint64_t timing_first(const struct timing *there)
{
	uint64_t first = 0;

	for (int i = 0; i < TIMING_STEPS; i++)
		if (timing_is_there(i) && there->us[i] && (!first || there->us[i] < first))
			first = there->us[i];
	return first;
}

json_t *timing_to_json(const struct timing *there)
{
	const uint64_t first = timing_first(there);
	json_t *steps = json_object();

	for (int i = 0; i < TIMING_STEPS; i++)
		if (timing_is_there(i) && there->us[i])
			json_object_set_new(steps, timing_words[i].name,
					    json_integer((json_int_t)(there->us[i] - first)));
	return steps;
}

bool timing_from_json(struct timing *there, const json_t *steps, uint64_t most)
{
	bool any = false;

	memset(there, 0, sizeof(*there));
	for (int i = 0; i < TIMING_STEPS; i++) {
		const json_t *said = json_object_get(steps, timing_words[i].name);
		const json_int_t us = json_integer_value(said);

		if (!timing_is_there(i) || !json_is_integer(said) || us < 0 || (uint64_t)us > most)
			continue;
		there->us[i] = (uint64_t)us + 1; /* 0 is not known */
		any = true;
	}
	return any;
}

/* ---- both clocks ---- */

/* What must be added to the executor's clock. False: nothing says so. */
static bool timing_align(const struct timing *home, const struct timing *there, int64_t *add,
			 int64_t *within)
{
	int64_t low = 0, high = 0;
	bool has_low = false, has_high = false;

	*within = -1;
	for (unsigned int i = 0; i < TIMING_MESSAGES; i++) {
		const struct timing_message *m = &timing_messages[i];
		const int64_t bound = (int64_t)(home->us[m->home] - there->us[m->there]);

		/* During a long task one clock gains on the other: the earlier bounds hold. */
		if (!home->us[m->home] || !there->us[m->there])
			continue;
		if (m->goes && (!has_low || bound > low) && (!has_high || bound <= high)) {
			low = bound;
			has_low = true;
		} else if (!m->goes && (!has_high || bound < high) && (!has_low || bound >= low)) {
			high = bound;
			has_high = true;
		}
	}
	if (has_low && has_high)
		*within = (high - low + 1) / 2;
	*add = has_low && has_high ? low + (high - low) / 2 : has_low ? low : high;
	return has_low || has_high;
}

/* Cause and effect are in order, whatever the clocks say. */
static uint64_t timing_between(const struct timing *home, enum timing_step step, uint64_t us)
{
	for (unsigned int i = 0; i < TIMING_MESSAGES; i++) {
		const struct timing_message *m = &timing_messages[i];
		const uint64_t other = home->us[m->home];

		if (m->there == step && other && (m->goes ? us < other : us > other))
			us = other;
	}
	return us;
}

/* Among those that are there. */
static void timing_insert(struct timing_line *lines, unsigned int n, enum timing_step step,
			  uint64_t us)
{
	while (n && (lines[n - 1].us > us || (lines[n - 1].us == us && lines[n - 1].step > step))) {
		lines[n] = lines[n - 1];
		n--;
	}
	lines[n] = (struct timing_line){ step, us };
}

unsigned int timing_lines(const struct timing *home, const struct timing *there,
			  struct timing_line *out, int64_t *within)
{
	unsigned int n = 0;
	int64_t add = 0;

	for (int i = 0; i < TIMING_STEPS; i++)
		if (!timing_is_there(i) && home->us[i])
			timing_insert(out, n++, i, home->us[i]);
	/* Nothing of home's says when the executor's were. */
	if (!timing_align(home, there, &add, within) && n)
		return n;
	for (int i = 0; i < TIMING_STEPS; i++)
		if (timing_is_there(i) && there->us[i])
			timing_insert(out, n++, i,
				      timing_between(home, i, there->us[i] + (uint64_t)add));
	return n;
}
