// SPDX-License-Identifier: GPL-2.0-or-later
#include "ehctl.h"

#include "helpers/common/exec_words.h"
#include "launch.h"

/* Words that are right get here only if memory was short, or with --json: ehctl is the stub then. */
static int run(int argc, char **argv, bool json)
{
	struct exec_trouble trouble;
	struct exec_words words;

	if (json)
		return bad_usage("--json is not supported: the output is that of the command");
	if (exec_words(argv, &words, &trouble))
		return launch_stub(words.token, words.retry, words.view, words.command);
	if (trouble.unknown)
		return bad_argument(trouble.word);
	return trouble.word ? bad_usage("%s%s: %s", trouble.option, trouble.word, trouble.text)
			    : bad_usage("%s", trouble.text);
}

const struct command exec_command = {
	.name = "exec",
	.arguments = "NODE|--auto [--all] [--retry] [--view VIEW] -- CMD…",
	.help = "run CMD on a node immediately\n\n"
		"NODE is the name of its host, or its code.\n"
		"  --auto       let the hierarchy choose the node: this one unless it is a sender\n"
		"  --all        with --auto: another node, if one can take it\n"
		"  --retry      with --auto: as for `ehctl run`\n"
		"  --view VIEW  whose files CMD sees: as for `ehctl run`\n"
		"CMD has the open files, the environment, working directory and limits of\n"
		"ehctl, and receives its signals. The exit status is that of CMD, 126 or\n"
		"127 if it cannot be executed, or 1 if the node refused it, or if it has\n"
		"something open that another host cannot have, or something confines it\n"
		"here that would not confine it there; with --auto CMD then runs here.",
	.run = run,
};
