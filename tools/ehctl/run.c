// SPDX-License-Identifier: GPL-2.0-or-later
#include "ehctl.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "client.h"
#include "launch.h"
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

static int run(int argc, char **argv, bool json)
{
	char **command = launch_command(argc, argv);
	const char *name = NULL, *view = NULL;
	bool retry = false, all = false;
	json_t *reply;
	bool managed;
	int fd, code;

	if (!command)
		return EXIT_USAGE;
	if (json)
		return bad_usage("--json is not supported: the output is that of the command");
	for (char **arg = argv + 1; arg < command - 1; arg++) {
		if (!strcmp(*arg, "--retry"))
			retry = true;
		else if (!strcmp(*arg, "--all"))
			all = true;
		else if (!strcmp(*arg, "--view") && arg + 1 < command - 1)
			view = *++arg;
		else if (!strcmp(*arg, "-n") && arg + 1 < command - 1 && !name)
			name = *++arg;
		else
			return bad_argument(*arg);
	}
	if (view && view_parse(view) == VIEW_UNSET)
		return bad_usage("--view %s: must be shared, home or auto", view);
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
	json_decref(reply);
	/* Without the module later execs are not intercepted, so CMD itself is placed. */
	return managed ? become(command)
		       : launch_stub(all ? "@all" : "@auto", retry, view, command);
}

const struct command run_command = {
	.name = "run",
	.arguments = "[-n NAME] [--all] [--retry] [--view VIEW] -- CMD…",
	.help = "start CMD as a managed session\n\n"
		"CMD runs on this node. The programs that it starts may be transferred to\n"
		"other nodes while this node is a sender.\n"
		"  -n NAME      name of the session\n"
		"  --all        they are transferred whatever the load of this node, if they may\n"
		"               be and a node can take them; `ehctl why` says why one was not\n"
		"  --retry      if a task is lost with its node, run it again here from its\n"
		"               start; its output and other effects may then occur twice. A\n"
		"               task whose input is lost is not run again: see ehctl(1)\n"
		"  --view VIEW  whose files its tasks see on another node: shared (those of\n"
		"               that node, which must be the same), home (those of this\n"
		"               node) or auto (shared if they are the same, else home).\n"
		"               Default: `view` in ehagent.conf(5)\n"
		"The exit status is that of CMD.",
	.run = run,
};
