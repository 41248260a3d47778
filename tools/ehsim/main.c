// SPDX-License-Identifier: GPL-2.0-or-later
/* ehctl sim: what the hierarchy would do, as the paper's experiment or from a trace. */
#include "tools/common/common.h"
#include "load_sums.h"
#include "plot.h"
#include "report.h"

static int main_simulate_load(const struct arguments *a, bool json)
{
	struct load_sums s;
	int code = load_sums_run(&s, a);

	if (!code && json)
		code = json_print_new(load_sums_json(&s));
	else if (!code)
		load_sums_print(&s);
	return code;
}

static int main_simulate(int argc, char **argv, bool json)
{
	struct arguments a;
	struct sums s = { 0 };
	struct trace trace = { 0 };
	int code;

	code = arguments_parse(&a, argc, argv);
	if (code || arguments_load(&a)) {
		code = code ? code : main_simulate_load(&a, json);
		arguments_free(&a);
		return code;
	}
	if (a.trace) {
		code = trace_read(a.trace, &a.run.tree.topology, &trace);
		if (code)
			return code;
		a.run.trace = &trace;
	}
	code = arguments_failures(&a);
	if (!code)
		code = sums_run(&s, &a);
	if (!code && a.plot)
		code = plot_draw(&a.run, arguments_policy(&a), a.seed, a.runs, a.plot);
	if (!code && json)
		code = json_print_new(report_json(&s));
	else if (!code)
		report_print(&s);
	sums_free(&s);
	trace_free(&trace);
	return code;
}

int main(int argc, char **argv)
{
	bool json = false, help = false;

	command_name = "sim";
	command_usage = arguments_usage;
	argc = command_take_options(argc, argv, &json, &help);
	if (help) {
		arguments_help();
		return command_finish(EXIT_DONE);
	}
	return command_finish(main_simulate(argc, argv, json));
}
