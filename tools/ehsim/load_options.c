// SPDX-License-Identifier: GPL-2.0-or-later
#include "load_options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/common.h"

#define TRANSFER_COST 0.01 /* unless said */
#define HOLD 0.2
#define TIME_MAX 1e12 /* largest service time of a file */
#define SPEED_MAX 1e3

static const char *const options_services[] = { "exp", "hyper", "pareto", "constant", NULL };

static int options_add(double **array, size_t *count, double value)
{
	/* it doubles at each power of two */
	if (!(*count & (*count - 1))) {
		double *more = realloc(*array, (*count ? 2 * *count : 1) * sizeof(*more));

		if (!more)
			return -ENOMEM;
		*array = more;
	}
	(*array)[(*count)++] = value;
	return 0;
}

int load_options_speeds(struct load_options *o, const char *text)
{
	char *copy = strdup(text), *save = copy, *word;
	double speed;
	int err = copy ? 0 : -ENOMEM;

	o->load.nspeeds = 0;
	while (!err && (word = strsep(&save, ",")))
		err = parse_real(word, SPEED_MAX, &speed) || speed < 1 / SPEED_MAX
			      ? -EINVAL
			      : options_add(&o->speeds, &o->load.nspeeds, speed);
	free(copy);
	o->load.speeds = o->speeds;
	return err;
}

/* One line: a number, a comment, or nothing. */
static int options_read_line(struct load_options *o, char *line, unsigned long number)
{
	double time;
	char *word, *save;

	if (number == 1)
		line += parse_mark(line);
	line[strcspn(line, "#\r\n")] = '\0';
	word = strtok_r(line, " \t", &save);
	if (!word)
		return 0;
	if (strtok_r(NULL, " \t", &save) || parse_real(word, TIME_MAX, &time) || !(time > 0))
		return fail(EXIT_USAGE, "%s:%lu: a service time above 0 is needed, one per line",
			    o->service, number);
	if (options_add(&o->times, &o->load.ntrace, time))
		return fail(EXIT_REFUSED, "%s:%lu: no memory for more", o->service, number);
	return 0;
}

static int options_read_times(struct load_options *o)
{
	FILE *file = fopen(o->service, "r");
	unsigned long number = 0;
	char *line = NULL;
	size_t room = 0;
	int code = 0;

	if (!file)
		return fail(EXIT_USAGE, "--service %s: %s", o->service, strerror(errno));
	errno = 0;
	while (!code && getline(&line, &room, file) >= 0) {
		code = options_read_line(o, line, ++number);
		errno = 0;
	}
	if (!code && !feof(file))
		code = fail(EXIT_USAGE, "%s: %s", o->service, strerror(errno ? errno : EIO));
	if (!code && !o->load.ntrace)
		code = fail(EXIT_USAGE, "%s: there is no service time in it", o->service);
	free(line);
	fclose(file);
	o->load.trace = o->times;
	return code;
}

int load_options_finish(struct load_options *o)
{
	struct eh_load_options *load = &o->load;
	uint64_t nodes = 1ull << load->topology.n * load->topology.l;
	int service = parse_word(options_services, o->service ? o->service : options_services[0]);

	load->processors = o->cpus ? (unsigned int)o->cpus : 1;
	load->transfer = load->transfer < 0 ? TRANSFER_COST : load->transfer;
	if (load->policy != EH_LOAD_IDLE)
		load->hold = 0;
	else if (load->hold < 0)
		load->hold = HOLD;
	if (o->hot > nodes)
		return bad_usage("--hot: there are %llu nodes", (unsigned long long)nodes);
	load->hot = (uint32_t)o->hot;
	if (!o->service)
		o->service = options_services[0];
	load->service = service >= 0 ? (enum eh_load_service)service : EH_LOAD_TRACE;
	return service >= 0 ? 0 : options_read_times(o);
}

void load_options_free(struct load_options *o)
{
	free(o->speeds);
	free(o->times);
}
