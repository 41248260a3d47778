// SPDX-License-Identifier: GPL-2.0-or-later
#include "timeline.h"

#include <stdio.h>
#include <time.h>

#include "client.h"
#include "ended.h"
#include "groups.h"
#include "past.h"
#include "tools/common/common.h"

#define TIMELINE_BARS 100 /* at most */

struct timeline {
	const json_t *bars;
	time_t from, to, width; /* seconds; a bar begins at a multiple of `width` of local time */
};

/* A bar is a usual length of time. */
static time_t timeline_width(time_t span)
{
	static const time_t widths[] = {
		60, 300, 600, 1800, 3600, 7200, 21600, 43200, 86400, 604800
	};
	size_t i = 0;

	while (i + 1 < sizeof(widths) / sizeof(*widths) && span / widths[i] >= TIMELINE_BARS)
		i++;
	return widths[i] * (1 + span / widths[i] / TIMELINE_BARS);
}

/* gnuplot knows no zones: it is given local time as if it were UTC. */
static double timeline_local(double seconds)
{
	const time_t at = (time_t)seconds;
	struct tm tm;

	return localtime_r(&at, &tm) ? seconds + (double)tm.tm_gmtoff : seconds;
}

/* Where the i-th bar begins. */
static double timeline_at(const struct timeline *t, size_t i)
{
	return timeline_local(ended_seconds(text_of(json_array_get(t->bars, i), "key")));
}

static void timeline_write(FILE *script, const void *ctx)
{
	const struct timeline *t = ctx;
	const char *const form = t->to - t->from < 86400 ? "%H:%M" : "%m-%d\\n%H:%M";
	const size_t count = json_array_size(t->bars);
	json_int_t tasks, away;
	json_t *bar;
	size_t i;

	fprintf(script,
		"set terminal svg size 1000,400 font 'sans,12' background 'white'\n"
		"set key outside below\nset border 3\nset tics nomirror out\nset grid ytics\n"
		"set style fill solid 1 border rgb 'white'\nset xdata time\nset timefmt '%%s'\n"
		"set format x \"%s\"\nset xrange ['%.0f':'%.0f']\nset yrange [0:*]\n"
		"set ylabel 'tasks started in %s'\nset boxwidth %lld absolute\n",
		form, timeline_at(t, 0), timeline_at(t, count - 1) + (double)t->width,
		duration_text((double)t->width), (long long)t->width);
	fprintf(script, "$bars << EOD\n");
	json_array_foreach((json_t *)t->bars, i, bar) {
		tasks = json_integer_value(json_object_get(bar, "tasks"));
		away = json_integer_value(json_object_get(bar, "away"));
		fprintf(script, "%.0f %" JSON_INTEGER_FORMAT " %" JSON_INTEGER_FORMAT "\n",
			timeline_at(t, i), away, tasks - away);
	}
	fprintf(script,
		"EOD\n"
		"plot $bars using ($1+%g):($2+$3) with boxes lc rgb '#8a8a8a' title 'stayed', "
		"$bars using ($1+%g):2 with boxes lc rgb '#4878a8' title 'away'\n",
		(double)t->width / 2, (double)t->width / 2);
}

/* From the first start to the last. False: there is none, or an error. */
static bool timeline_span(const json_t *ask, struct timeline *t, int *code)
{
	json_t *document = past_groups(json_copy((json_t *)ask), "user", code), *group;
	size_t i;

	if (!document)
		return false;
	json_array_foreach(json_object_get(document, "groups"), i, group) {
		const time_t first = (time_t)ended_seconds(text_of(group, "started"));
		const time_t last = (time_t)ended_seconds(text_of(group, "last"));

		t->from = !i || first < t->from ? first : t->from;
		t->to = !i || last > t->to ? last : t->to;
	}
	if (!i)
		*code = fail(EXIT_REFUSED, "there is no such task to draw");
	json_decref(document);
	return i;
}

int timeline_draw(json_t *ask, const char *path)
{
	struct timeline t = { .width = 0 };
	json_t *document;
	int code = EXIT_DONE;

	if (!timeline_span(ask, &t, &code)) {
		json_decref(ask);
		return code;
	}
	t.width = timeline_width(t.to - t.from);
	json_object_set_new(ask, "width", json_integer((json_int_t)t.width * 1000));
	document = groups_ask(ask, "hour", 0, &code);
	if (!document)
		return code;
	t.bars = json_object_get(document, "groups");
	code = gnuplot_draw(path, timeline_write, &t);
	json_decref(document);
	return code;
}
