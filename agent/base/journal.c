// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The journal's native protocol (systemd.io/JOURNAL_NATIVE_PROTOCOL): a datagram of lines NAME=value.
 * Values are cleaned, so none has a line's end, which alone would need the binary form. libsystemd
 * would load a dozen libraries for it, and may wait for the journal.
 */
#include "base/journal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/agent.h"
#include "base/config_data.h"
#include "base/log.h"
#include "base/notify.h"
#include "wire/clean.h"

#define JOURNAL_SOCKET "/run/systemd/journal/socket"
#define JOURNAL_ENTRY 8192

static const struct {
	const char *id, *says;
} journal_whats[JOURNAL_WHATS] = {
	[JOURNAL_AWAY] = { "a457caacdc8c4ef59da8b94a84f3ae72", "runs on" },
	[JOURNAL_STAYS] = { "ac5e4952a6be4d5eacffa74c4d5587f6", "stays at home on" },
	[JOURNAL_ENDED] = { "2c7ab6c7cd1a40f39c7272492d20a5bf", "has ended on" },
	[JOURNAL_GUEST] = { "6ca7fab0e7c943dfb520818ca254b95c", "of another node has started on" },
	[JOURNAL_GUEST_ENDED] = { "18fa12ac20b54ea28da6f581637c0ee4",
				  "of another node has ended on" },
};

struct journal_entry {
	char text[JOURNAL_ENTRY];
	size_t length;
};

static void __attribute__((format(printf, 2, 3)))
journal_add(struct journal_entry *e, const char *format, ...)
{
	char line[1500], clean[1500];
	va_list args;
	int n;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	n = snprintf(e->text + e->length, sizeof(e->text) - e->length, "%s\n",
		     clean_text(clean, sizeof(clean), line));
	if (n > 0 && e->length + n < sizeof(e->text))
		e->length += n;
}

static void journal_add_text(struct journal_entry *e, const char *name, const char *value)
{
	if (value && *value)
		journal_add(e, "%s=%s", name, value);
}

void journal_task(const struct agent *agent, enum journal_what what, const struct journal_task *t)
{
	static unsigned long long lost; /* of the process, as the journal is */
	struct journal_entry e = { .length = 0 };
	int err;

	if (!agent->config->audit)
		return;
	journal_add(&e, "MESSAGE=task %s (%s) of user %u %s %s", t->id, t->program ?: "?",
		    (unsigned int)t->uid, journal_whats[what].says,
		    what == JOURNAL_GUEST || what == JOURNAL_GUEST_ENDED ? agent->code
									 : t->executor);
	journal_add(&e, "MESSAGE_ID=%s", journal_whats[what].id);
	journal_add(&e, "PRIORITY=6");
	journal_add(&e, "SYSLOG_IDENTIFIER=ehagent");
	journal_add(&e, "EHSCHED_NODE=%s", agent->code);
	journal_add(&e, "EHSCHED_UID=%u", (unsigned int)t->uid);
	journal_add_text(&e, "EHSCHED_TASK", t->id);
	journal_add_text(&e, "EHSCHED_USER", t->user);
	journal_add_text(&e, "EHSCHED_PROGRAM", t->program);
	journal_add_text(&e, "EHSCHED_HOME", t->home);
	journal_add_text(&e, "EHSCHED_EXECUTOR", t->executor);
	journal_add_text(&e, "EHSCHED_REASON", t->reason);
	if (t->ended && WIFEXITED(t->status))
		journal_add(&e, "EHSCHED_EXIT=%d", WEXITSTATUS(t->status));
	if (t->ended && WIFSIGNALED(t->status))
		journal_add(&e, "EHSCHED_SIGNAL=%d", WTERMSIG(t->status));
	if (lost)
		journal_add(&e, "EHSCHED_ENTRIES_LOST=%llu", lost);
	err = notify_datagram(JOURNAL_SOCKET, e.text, e.length);
	if (!err)
		lost = 0;
	else if (!lost++)
		log_warning("audit: cannot write to the journal at " JOURNAL_SOCKET ": %s",
			    strerror(-err));
}
