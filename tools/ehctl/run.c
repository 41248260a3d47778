// SPDX-License-Identifier: GPL-2.0-or-later
#include "ehctl.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "client.h"
#include "jobserver.h"
#include "launch.h"
#include "report.h"
#include "wire/view.h"

static int become(char **command)
{
	char program[4096];
	int code;

	if (!launch_find(command[0], program, sizeof(program), &code))
		return code;
	execv(program, command);
	/* a script without #! is run by sh, as execvp() does */
	if (errno == ENOEXEC)
		execvp(command[0], command);
	return fail(126, "%s: %s", command[0], strerror(errno));
}

/* --jobserver, --jobserver=SCOPE, --jobserver-style STYLE. False: it is none of them. */
static bool take_jobserver(struct jobserver_options *o, char **arg, char **end, int *taken)
{
	int style;

	*taken = 0;
	if (!strcmp(*arg, "--jobserver")) {
		o->wanted = true;
		return true;
	}
	if (!strcmp(*arg, "--jobserver=cluster") || !strcmp(*arg, "--jobserver=node")) {
		o->wanted = true;
		o->of = *arg + strlen("--jobserver=");
		return true;
	}
	style = !strcmp(*arg, "--jobserver-style") && arg + 1 < end ? tokens_style(arg[1]) : -1;
	if (style < 0)
		return false;
	o->wanted = true;
	o->style = style;
	*taken = 1;
	return true;
}

static int run(int argc, char **argv, bool json)
{
	char **command = launch_command(argc, argv);
	const char *name = NULL, *view = NULL;
	bool retry = false, all = false, wants_report = false;
	struct jobserver_options jobserver = { .wanted = false };
	struct report report = { .to = -1 };
	json_t *reply;
	bool managed;
	int fd, code, taken;

	if (!command)
		return EXIT_USAGE;
	if (json)
		return bad_usage("--json is not supported: the output is that of the command");
	for (char **arg = argv + 1; arg < command - 1; arg++) {
		if (!strcmp(*arg, "--retry"))
			retry = true;
		else if (!strcmp(*arg, "--all"))
			all = true;
		else if (!strcmp(*arg, "--report"))
			wants_report = true;
		else if (!strncmp(*arg, "--jobserver", 11) &&
			 take_jobserver(&jobserver, arg, command - 1, &taken))
			arg += taken;
		else if (!strcmp(*arg, "--view") && arg + 1 < command - 1)
			view = *++arg;
		else if (!strcmp(*arg, "-n") && arg + 1 < command - 1 && !name)
			name = *++arg;
		else
			return bad_argument(*arg);
	}
	if (view && view_parse(view) == VIEW_UNSET)
		return bad_usage("--view %s: must be shared, home or auto", view);
	if (wants_report) {
		code = report_fork(&report, name ?: command[0]);
		if (code >= 0)
			return code;
		/* The report asks for it by name later. */
		name = name ?: "run";
	}
	if (jobserver.wanted) {
		code = jobserver_fork(&jobserver, command);
		if (code >= 0)
			return code;
	}
	fd = client_connect(false);
	code = EXIT_REFUSED;
	reply = NULL;
	if (fd >= 0) {
		if (!client_send(fd,
				 json_pack("{s:s, s:s*, s:b, s:b, s:s*}", "command", "run", "name",
					   name, "retry", retry, "all", all, "view", view)))
			reply = client_receive(fd, &code, NULL);
		close(fd);
	}
	if (!reply && code == EXIT_USAGE)
		return code;
	/* A missing agent must not keep the job from running. */
	if (!reply) {
		fail(0, "%s: running it here; none of its tasks will be transferred", command[0]);
		return become(command);
	}
	managed = json_is_true(json_object_get(reply, "managed"));
	report_session(&report, json_string_value(json_object_get(reply, "session")) ?: "",
		       managed);
	json_decref(reply);
	/* Without the module later execs are not intercepted, so CMD itself is placed. */
	/* With a jobserver it stays, because its jobs have slots here. */
	return managed || jobserver.wanted
		       ? become(command)
		       : launch_stub(all ? "@all" : "@auto", retry, view, command);
}

const struct command run_command = {
	.name = "run",
	.arguments = "[-n NAME] [--all] [--retry] [--report] [--view VIEW] [--jobserver[=OF]] "
		     "[--jobserver-style STYLE] -- CMD…",
	.help = "start CMD as a managed session\n\n"
		"CMD runs on this node. The programs that it starts may be transferred to\n"
		"other nodes while this node is a sender.\n"
		"  -n NAME      name of the session\n"
		"  --all        they are transferred whatever the load of this node, if they may\n"
		"               be and a node can take them; `ehctl why` says why one was not\n"
		"  --retry      if a task is lost with its node, run it again here from its\n"
		"               start; its output and other effects may then occur twice. A\n"
		"               task whose input is lost is not run again: see ehctl-run(1)\n"
		"  --report     at its end print how many tasks ran where, why others stayed, and\n"
		"               the processor time that was used here and elsewhere\n"
		"  --view VIEW  whose files its tasks see on another node: shared (those of\n"
		"               that node, which must be the same), home (those of this\n"
		"               node) or auto (shared if they are the same, else home).\n"
		"               Default: `view` in ehagent.conf(5)\n"
		"  --jobserver[=OF]\n"
		"               CMD is make, or starts it, without `-jN`: the number of jobs that\n"
		"               run at a time follows the processors that are free, and each\n"
		"               user's share of them; OF: cluster (default with the module) or\n"
		"               node (default without: there no exec is intercepted)\n"
		"  --jobserver-style STYLE\n"
		"               how make takes part: fifo (make 4.4 or later, ninja, cargo), pipe,\n"
		"               or auto (default: as `make --version` says)\n"
		"The exit status is that of CMD.",
	.run = run,
};
