// SPDX-License-Identifier: GPL-2.0-or-later
/* ehplan PLANNER FILE [OPTION]...: finds the planner and parses the common options. */
#include "ehplan.h"

#include <float.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "build.h"
#include "links.h"
#include "live.h"
#include "tools/common/help.h"

static const struct planner *const planners[] = {
	&assign_planner, &gang_planner, &divide_planner, &dag_planner, NULL,
};

static int take_algorithm(void *arguments, const char *text)
{
	struct plan_call *call = arguments;

	call->algorithm = text;
	return parse_word(call->planner->algorithms, text) < 0;
}

static int take_gantt(void *arguments, const char *text)
{
	struct plan_call *call = arguments;

	call->gantt = text;
	return !call->planner->gantt;
}

static int take_format(void *arguments, const char *text)
{
	struct plan_call *call = arguments;

	call->format = text;
	return !call->planner->formats || parse_word(call->planner->formats, text) < 0;
}

static const struct option_row common_options[] = {
	{ "algorithm", OPTION_OWN, 0, "A", .take = take_algorithm, .wanted = "no such algorithm" },
	{ "gantt", OPTION_OWN, 0, "FILE.svg", .take = take_gantt,
	  .wanted = "this plan has no times to draw" },
	{ "format", OPTION_OWN, 0, "F", .take = take_format, .wanted = "no such format" },
	{ "seed", OPTION_COUNT, offsetof(struct plan_call, seed), "S", .count = { 0, UINT64_MAX },
	  .wanted = "a whole number is needed" },
	{ "time-limit", OPTION_REAL, offsetof(struct plan_call, watch.until), "S",
	  .real = { DBL_MIN, 1e6 }, .wanted = "seconds above 0 are needed" },
	{ 0 },
};

static int usage_all(FILE *to, int code)
{
	fprintf(to, "usage: ehctl plan PLANNER FILE [OPTION]... [--json] [--help]\n\n");
	for (size_t i = 0; planners[i]; i++)
		fprintf(to, "  %-7s %.*s\n", planners[i]->name,
			(int)strcspn(planners[i]->help, "\n"), planners[i]->help);
	fprintf(to, "\nWith the FILE `-`, the standard input is read. `ehctl plan PLANNER --help`\n"
		    "lists its options.\n");
	return code;
}

static void help_planner(const struct planner *p)
{
	char arguments[1024], name[64];

	snprintf(name, sizeof(name), "plan %s", p->name);
	snprintf(arguments, sizeof(arguments), "FILE %s", p->arguments);
	help_command(name, arguments, p->help);
	printf("\n"
	       "  --algorithm A      one of");
	for (size_t i = 0; p->algorithms[i]; i++)
		printf(" %s%s", p->algorithms[i], i ? "" : " (default)");
	printf("\n");
	if (p->gantt)
		printf("  --gantt FILE.svg   draw the plan as bars over time\n");
	if (p->formats) {
		printf("  --format F         print what another program reads:");
		for (size_t i = 0; p->formats[i]; i++)
			printf(" %s", p->formats[i]);
		printf("\n");
	}
	printf("  --seed S           seed of random choices (1)\n"
	       "  --time-limit S     stop after S seconds and print the best plan so far\n"
	       "  --json             print one JSON document\n");
}

static const struct planner *find_planner(const char *name)
{
	for (size_t i = 0; planners[i]; i++)
		if (!strcmp(planners[i]->name, name))
			return planners[i];
	return NULL;
}

static int parse(const struct planner *p, struct plan_call *call, int argc, char **argv)
{
	const struct option_set sets[] = { { common_options, call }, { p->options, p->settings } };
	int code = options_parse_sets(argc, argv, sets, 2);

	if (code)
		return code;
	if (optind + 1 != argc)
		return bad_usage(optind == argc ? "a file is needed; - is standard input"
						: "one file only");
	return 0;
}

int main(int argc, char **argv)
{
	static char names[64], arguments[1024];
	struct plan_call call = { .seed = 1 };
	const struct planner *p;
	bool help = false;
	int code;

	/* keep freed memory: the kernel clears each page that it gives again */
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	/* from make or ninja, for a build that is run by a plan */
	if (argc > 2 && (!strcmp(argv[1], "--line") || !strcmp(argv[1], "--dry-line")))
		return build_line_main(argc - 1, argv + 1);
	/* from `ehctl gang` at home, on a host of the gang */
	if (argc > 2 && !strcmp(argv[1], "--links"))
		return links_main(argc - 1, argv + 1);
	/* from ehctl, for plans that are carried out */
	if (argc > 2 && !strcmp(argv[1], "--live"))
		return live_main(argc - 2, argv + 2);
	command_name = "plan";
	argc = command_take_options(argc, argv, &call.json, &help);
	if (argc < 2)
		return command_finish(
			usage_all(help ? stdout : stderr, help ? EXIT_DONE : EXIT_USAGE));
	p = find_planner(argv[1]);
	if (!p)
		return fail(EXIT_USAGE, "%s: no such planner; `ehctl plan --help` lists them",
			    argv[1]);
	snprintf(names, sizeof(names), "plan %s", p->name);
	snprintf(arguments, sizeof(arguments), "FILE %s", p->arguments);
	command_name = names;
	command_usage = arguments;
	if (help) {
		help_planner(p);
		return command_finish(EXIT_DONE);
	}
	call.planner = p;
	code = parse(p, &call, argc - 1, argv + 1);
	if (!code)
		code = call_read(argv[argc - 1], &call.name, &call.text, &call.length);
	if (!code)
		code = command_finish(p->run(&call));
	free(call.text);
	return code;
}
