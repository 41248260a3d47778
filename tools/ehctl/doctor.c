// SPDX-License-Identifier: GPL-2.0-or-later
#include "ehctl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client.h"
#include "helpers/common/companion.h"
#include "pairs.h"

enum level { OK, NOTE, WARNING, ERROR };

static const char *const levels[] = { "ok", "note", "warning", "error" };

/* `mend` is the old name of `fix`, for one version. */
static void add(json_t *checks, const char *name, enum level level, const char *what,
		const char *fix)
{
	if (level == OK)
		fix = "";
	json_array_append_new(checks, json_pack("{s:s, s:b, s:s, s:s, s:s, s:s}", "name", name,
						"ok", level == OK, "level", levels[level], "what",
						what, "fix", fix, "mend", fix));
}

/* An agent of before says only whether it is right. */
static enum level level_of(const json_t *check)
{
	const char *name = json_string_value(json_object_get(check, "level"));

	for (enum level level = OK; name && level <= ERROR; level++)
		if (!strcmp(name, levels[level]))
			return level;
	return json_is_true(json_object_get(check, "ok")) ? OK : ERROR;
}

static bool contains(const char *file, const char *word)
{
	char line[512];
	bool found = false;
	FILE *f = fopen(file, "re");

	while (f && !found && fgets(line, sizeof(line), f))
		found = strstr(line, word);
	if (f)
		fclose(f);
	return found;
}

/* Without the agent: what can be checked from here, in the order in which things are needed. */
static json_t *local_checks(bool hangs)
{
	json_t *document = json_pack("{s:i, s:[]}", "version", 1, "checks");
	json_t *checks = json_object_get(document, "checks");
	char stub[4096];
	bool loaded = !access("/sys/module/ehsched", F_OK);

	if (!checks)
		return NULL;
	if (hangs)
		add(checks, "agent", ERROR, "the agent runs, but does not answer",
		    "see systemctl status ehagent and journalctl -u ehagent; systemctl restart "
		    "ehagent keeps tasks");
	else
		add(checks, "agent", ERROR, "no agent answers in this network namespace",
		    "systemctl start ehagent; if it ends, see journalctl -u ehagent");
	add(checks, "configuration", access("/etc/ehsched/agent.conf", R_OK) ? ERROR : OK,
	    "/etc/ehsched/agent.conf",
	    "create it (see ehagent.conf(5)), then check it with "
	    "`ehagent -t`");
	if (!loaded && access("/proc/modules", F_OK))
		add(checks, "module", NOTE, "this kernel cannot load modules",
		    "not needed for `ehctl run` and `ehctl exec`; interception needs another "
		    "kernel");
	else if (!loaded && contains("/sys/kernel/security/lockdown", "[integrity]"))
		add(checks, "module", WARNING,
		    "ehsched.ko is not loaded, and Secure Boot accepts only signed modules",
		    "sign it with a key enrolled by mokutil (DKMS does), then modprobe ehsched");
	else
		add(checks, "module", loaded ? OK : WARNING,
		    loaded ? "loaded" : "ehsched.ko is not loaded",
		    "modprobe ehsched; if it fails, see dmesg");
	add(checks, "cgroup", contains("/proc/mounts", " cgroup2 ") ? OK : WARNING,
	    "cgroup2 hierarchy",
	    "mount -t cgroup2 none /sys/fs/cgroup, or boot with systemd.unified_cgroup_hierarchy=1");
	add(checks, "stub", companion("ehstub", stub, sizeof(stub)) ? OK : ERROR,
	    "ehstub next to ehctl or in ../libexec/ehsched", "make install");
	return document;
}

/* Nothing is wrong with a node that drains, but somebody may have forgotten it. */
static void add_draining(json_t *checks)
{
	int code;
	json_t *status = client_ask(json_pack("{s:s}", "command", "status"), &code), *node;
	char name[128], what[600], fix[128];
	size_t i;

	json_array_foreach(json_object_get(status, "nodes"), i, node) {
		const json_t *drain = json_object_get(node, "drain");
		const char *host = text_of(node, "host");

		if (!json_is_true(json_object_get(node, "draining")))
			continue;
		snprintf(name, sizeof(name), "drain %s", host);
		snprintf(what, sizeof(what), "%s takes no new tasks: DRAINING by %s, reason: %s",
			 host, text_of(drain, "by"), text_of(drain, "reason"));
		snprintf(fix, sizeof(fix), "ehctl undrain %s", host);
		add(checks, name, NOTE, what, fix);
	}
	json_decref(status);
}

static int run(int argc, char **argv, bool json)
{
	json_t *reply, *check;
	int fd, code = EXIT_DONE;
	enum level worst = OK;
	bool hangs;
	size_t i;

	if (argc > 1 && !strcmp(argv[1], "--pairs"))
		return argc > 2 ? bad_argument(argv[2]) : pairs_run(json);
	if (argc > 1)
		return bad_argument(argv[1]);
	fd = client_connect(true);
	if (fd < 0) {
		reply = local_checks(errno == EAGAIN);
	} else {
		reply = NULL;
		hangs = false;
		if (!client_send(fd, json_pack("{s:s}", "command", "doctor"))) {
			hangs = !client_wait(fd);
			reply = hangs ? local_checks(true) : client_receive(fd, &code, NULL);
		}
		close(fd);
		/* an agent that waits to join knows of no other node */
		if (!json_is_false(json_object_get(
			    json_array_get(json_object_get(reply, "checks"), 0), "ok")))
			add_draining(json_object_get(reply, "checks"));
	}
	if (!reply)
		return code ? code : fail(EXIT_REFUSED, "out of memory");
	json_array_foreach(json_object_get(reply, "checks"), i, check)
		worst = level_of(check) > worst ? level_of(check) : worst;
	if (json) {
		code = json_print(reply);
	} else {
		json_array_foreach(json_object_get(reply, "checks"), i, check) {
			enum level level = level_of(check);
			char name[128];

			/* a check of a node is called "peer 0.1" */
			snprintf(name, sizeof(name), "%s", text_of(check, "name"));
			if (json_object_get(check, "host") && strchr(name, ' '))
				snprintf(strchr(name, ' ') + 1,
					 name + sizeof(name) - strchr(name, ' ') - 1, "%s",
					 text_of(check, "host"));
			printf("%-7s %-14s %s\n", levels[level], name, text_of(check, "what"));
			if (level != OK)
				printf("%23s%s\n", "fix: ", text_of(check, "fix"));
		}
	}
	json_decref(reply);
	return code ? code : worst == ERROR ? EXIT_REFUSED : EXIT_DONE;
}

const struct command doctor_command = {
	.name = "doctor",
	.arguments = "[--pairs] [--json]",
	.help = "diagnose this node and suggest fixes\n\n"
		"  --pairs  test how each node gets on with each other one, both ways: its name,\n"
		"           port, certificate, clock, version and users; of more than 32 nodes\n"
		"           those of a group, and controllers. For root and `admin-group`\n"
		"A note says what is so, a warning what works less well, an error what does\n"
		"not work. The exit status is 1 if there is an error.",
	.run = run,
};
