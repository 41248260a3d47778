// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What make would run: `make -n -p`. Its shell is a variable that prints the target, so that each line
 * of a recipe has its target before it; the prerequisites are those of make's data base, which it
 * prints at its end. The same of each make that a recipe starts.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "build.h"
#include "build_walk.h"
#include "ehplan.h"
#include "plan/names.h"

#define MARK '\036'
#define NONE UINT32_MAX

/* A line of a recipe. */
struct entry {
	unsigned int level;
	const char *where, *target, *text;
	uint32_t make; /* whose data base has the target; NONE: not known yet */
};

/* One make that ran. */
struct maker {
	uint32_t owner; /* the entry that started it */
};

struct reader {
	struct build *b;
	struct entry *entries;
	uint32_t nentries, room;
	struct maker *makers;
	uint32_t nmakers;
	struct plan_names *here; /* lines that make runs itself, even with -n */
	struct build_walk walk;
};

/* ---- the output ---- */

/* MARK level US directory US target LF text: cuts its words apart. */
static int take_mark(struct reader *r, char *line)
{
	char *level = line + 1, *where = strchr(level, '\037'), *target;
	struct entry *more;

	target = where ? strchr(where + 1, '\037') : NULL;
	if (!target || !target[1])
		return 0;
	*where++ = '\0';
	*target++ = '\0';
	if (r->nentries == r->room) {
		r->room = r->room ? 2 * r->room : 256;
		more = reallocarray(r->entries, r->room, sizeof(*more));
		if (!more)
			return -ENOMEM;
		r->entries = more;
	}
	r->entries[r->nentries++] = (struct entry){
		.level = strtoul(level, NULL, 10), .where = where, .target = target, .make = NONE
	};
	return 0;
}

/* The node of a target of one make. */
static int64_t node_of(struct reader *r, uint32_t make, const char *target, size_t length)
{
	char name[4096];

	if (length > sizeof(name) - 16)
		return -ENOENT;
	snprintf(name, sizeof(name), "%u/%.*s", make, (int)length, target);
	return walk_node(&r->walk, name);
}

/* The words of a text are prerequisites; | is between two kinds of them. With `back` they have the
 * node as theirs. */
static int add_needs(struct reader *r, uint32_t make, int64_t node, const char *text, bool back)
{
	int err = 0;

	while (!err && *text) {
		size_t n = strcspn(text, " ");
		int64_t other;

		if (n && !(n == 1 && *text == '|')) {
			other = node_of(r, make, text, n);
			if (other == -ENOMEM)
				return -ENOMEM;
			if (other >= 0)
				err = back ? walk_need(&r->walk, other, node)
					   : walk_need(&r->walk, node, other);
		}
		text += n;
		text += strspn(text, " ");
	}
	return err;
}

/* "target: a b | c". A name may have colons: the one that ends it has a space or nothing behind it. */
static int take_rule(struct reader *r, uint32_t make, const char *line, int64_t *node)
{
	const char *end = line;

	while (*end && !(*end == ':' && (!end[1] || end[1] == ' ' || end[1] == ':')))
		end++;
	*node = -1;
	if (!*end)
		return 0;
	*node = node_of(r, make, line, end - line);
	if (*node < 0)
		return *node == -ENOMEM ? -ENOMEM : 0;
	end += strspn(end, ":");
	return add_needs(r, make, *node, end + strspn(end, " "), false);
}

/* A data base ends the make of this level that ran last. */
static int end_make(struct reader *r, unsigned int level)
{
	struct maker *more = reallocarray(r->makers, r->nmakers + 1, sizeof(*more));
	uint32_t make = r->nmakers;

	if (!more)
		return -ENOMEM;
	r->makers = more;
	r->makers[r->nmakers++] = (struct maker){ .owner = NONE };
	for (uint32_t i = r->nentries; i-- > 0;) {
		struct entry *e = &r->entries[i];

		if (e->make != NONE)
			continue;
		if (e->level == level)
			e->make = make;
		else if (level && e->level == level - 1 && r->makers[make].owner == NONE)
			r->makers[make].owner = i;
	}
	return 0;
}

struct base {
	bool inside, files, foreign;
	unsigned int level;
	int64_t node;
};

/* A line of a data base. */
static int take_base(struct reader *r, struct base *base, char *line)
{
	static const char level[] = "MAKELEVEL := ", where[] = "CURDIR := ",
			  also[] = "#  Also makes: ";
	int err = 0;

	if (!strncmp(line, level, strlen(level)))
		base->level = strtoul(line + strlen(level), NULL, 10);
	if (!strncmp(line, where, strlen(where)) && !base->level) {
		free(r->b->directory);
		r->b->directory = strdup(line + strlen(where));
		return r->b->directory ? 0 : -ENOMEM;
	}
	if (!strncmp(line, "# Finished Make data base", 25)) {
		base->inside = base->files = false;
		return end_make(r, base->level);
	}
	if (!strcmp(line, "# Files"))
		base->files = true;
	else if (!strcmp(line, "# files hash-table stats:"))
		base->files = false;
	if (!base->files)
		return 0;
	if (!strcmp(line, "# Not a target:")) {
		base->foreign = true;
	} else if (!strncmp(line, also, strlen(also)) && base->node >= 0) {
		err = add_needs(r, r->nmakers, base->node, line + strlen(also), true);
	} else if (*line && *line != '#' && *line != '\t' && *line != ' ') {
		base->node = -1;
		if (!base->foreign)
			err = take_rule(r, r->nmakers, line, &base->node);
		base->foreign = false;
	}
	return err;
}

/* Cuts the output into lines. The text of an entry reaches up to what begins next. */
static int read_output(struct reader *r, char *text)
{
	struct base base = { .node = -1 };
	char *open = NULL; /* where the text of the last entry begins */
	int err = 0;

	for (char *line = text, *next; line && *line && !err; line = next) {
		bool mark = *line == MARK, head = !strncmp(line, "# GNU Make ", 11);

		next = strchr(line, '\n');
		if (open && (mark || head)) {
			line[-1] = '\0';
			r->entries[r->nentries - 1].text = open == line ? "" : open;
			open = NULL;
		}
		if (next && (mark || head || base.inside))
			*next = '\0';
		if (next)
			next++;
		if (mark) {
			uint32_t before = r->nentries;

			err = take_mark(r, line);
			open = r->nentries > before ? next : NULL;
		} else if (head || !strncmp(line, "# Make data base", 16)) {
			if (!base.inside)
				base = (struct base){ .inside = true, .node = -1 };
		} else if (base.inside) {
			err = take_base(r, &base, line);
		}
	}
	for (uint32_t i = 0; i < r->nentries; i++)
		if (!r->entries[i].text)
			r->entries[i].text = "";
	return err;
}

static int read_here(struct reader *r)
{
	char path[sizeof(r->b->folder) + 8], *text;
	const char *name;
	size_t length;
	int code;

	snprintf(path, sizeof(path), "%s/here", r->b->folder);
	if (access(path, F_OK))
		return 0;
	code = call_read(path, &name, &text, &length);
	if (code)
		return code;
	for (char *at = text; at < text + length; at += strlen(at) + 1)
		if (plan_names_add(r->here, at) == -ENOMEM)
			code = fail(EXIT_REFUSED, "no memory for what make says");
	free(text);
	return code;
}

/* ---- from targets to tasks ---- */

static char *task_name(const struct reader *r, const struct entry *e)
{
	size_t top = r->b->directory ? strlen(r->b->directory) : 0;
	const char *below = "";
	char *name = NULL;

	if (top && !strncmp(e->where, r->b->directory, top) && e->where[top] == '/')
		below = e->where + top + 1;
	if (asprintf(&name, "%s%s%s", below, *below ? "/" : "", e->target) < 0)
		return NULL;
	return name;
}

/* What such a line prints is behind its text: the last lines are taken off until it is known. */
static bool runs_here(const struct reader *r, const struct entry *e)
{
	char *name = NULL, *text, *end;
	bool found = false;

	if (asprintf(&name, "%s\037%s\037%s", e->where, e->target, e->text) < 0)
		return false;
	text = name + strlen(name) - strlen(e->text);
	while (!found) {
		found = plan_names_find(r->here, name) >= 0;
		end = strrchr(text, '\n');
		if (!end)
			break;
		*end = '\0';
	}
	free(name);
	return found;
}

/* A recursive line: the makes that it started are in its place. */
static int add_makes(struct reader *r, uint32_t entry, int64_t node)
{
	int err = 0;

	for (uint32_t m = 0; m < r->nmakers && !err; m++)
		if (r->makers[m].owner == entry)
			err = walk_group(&r->walk, node, m);
	return err;
}

static int add_line(struct reader *r, const struct entry *e, int64_t node)
{
	char *name = task_name(r, e), *where = NULL;
	int err = -ENOMEM;

	if (name && asprintf(&where, "%s/%s", e->where, e->target) >= 0)
		err = walk_task(&r->walk, node, e->make, name, where, e->text);
	free(name);
	free(where);
	return err;
}

static int make_lines(struct reader *r)
{
	int err = 0;

	for (uint32_t i = 0; i < r->nentries && !err; i++) {
		const struct entry *e = &r->entries[i];
		int64_t node =
			e->make == NONE ? -1 : node_of(r, e->make, e->target, strlen(e->target));

		/* without text it expands to nothing, or was $(shell …) */
		if (node < 0 || !*e->text)
			continue;
		err = runs_here(r, e) ? add_makes(r, i, node) : add_line(r, e, node);
	}
	return err;
}

/* ---- asking ---- */

static char **make_words(const struct build *b, const char *const *first)
{
	size_t n = 0, count = 0;
	char **argv;

	while (first[n])
		n++;
	while (b->args[count])
		count++;
	argv = calloc(n + count + 1, sizeof(*argv));
	if (!argv)
		return NULL;
	memcpy(argv, first, n * sizeof(*argv));
	memcpy(argv + n, b->args, count * sizeof(*argv));
	return argv;
}

/* Which shell the makefile asks for: a goal of our own says it once all is read, and then ends make. */
static int ask_shell(struct build *b)
{
	static const char *const first[] = {
		"make",
		"-n",
		"--no-print-directory",
		"--eval=.ehsched-shell:;$(info \036$(SHELL)\037$(.SHELLFLAGS)\036)$(error )",
		".ehsched-shell",
		NULL
	};
	char **argv = make_words(b, first), *text = NULL, *shell, *flags = NULL, *end = NULL;
	size_t length;
	int status;

	if (argv)
		text = build_ask(b, argv, &status, &length);
	free(argv);
	if (!text)
		return EXIT_REFUSED;
	shell = strchr(text, MARK);
	if (shell)
		flags = strchr(++shell, '\037');
	if (flags)
		end = strchr(++flags, MARK);
	if (end) {
		flags[-1] = *end = '\0';
		b->shell = strdup(shell);
		b->flags = strdup(flags);
	}
	free(text);
	/* a makefile that cannot be read: make itself says what is wrong with it */
	return 0;
}

static char *ask_all(struct build *b, int *status)
{
	char shell[sizeof(b->folder) + 16];
	/* The mark is not in SHELL, which make expands once more where it exports it. */
	const char *const first[] = { "make",
				      "-npk",
				      "-j1",
				      "--no-print-directory",
				      shell,
				      (".SHELLFLAGS=$(info \036$(MAKELEVEL)\037$(CURDIR)\037$@)"
				       "--dry-line '$(MAKELEVEL)' " BUILD_TARGET " -c"),
				      NULL };
	char **argv = make_words(b, first), *text;
	size_t length;

	snprintf(shell, sizeof(shell), "SHELL=%s/sh", b->folder);
	text = argv ? build_ask(b, argv, status, &length) : NULL;
	free(argv);
	return text;
}

static void close_reader(struct reader *r)
{
	if (r->here)
		plan_names_free(r->here);
	free(r->makers);
	free(r->entries);
	walk_close(&r->walk);
}

int build_make_read(struct build *b, struct workflow *w)
{
	struct reader r = { .b = b, .here = plan_names_new() };
	int err = walk_open(&r.walk), status, code = 0;
	char *text = NULL;

	if (!err && !r.here)
		err = -ENOMEM;
	if (!err)
		code = ask_shell(b);
	if (!err && !code) {
		text = ask_all(b, &status);
		code = text ? read_here(&r) : EXIT_REFUSED;
	}
	if (!err && !code)
		err = read_output(&r, text);
	if (!err && !code)
		err = make_lines(&r);
	if (err)
		code = fail(EXIT_REFUSED, "what make would run: %s", strerror(-err));
	if (!code)
		code = walk_finish(&r.walk, b, w);
	close_reader(&r);
	free(text);
	return code;
}
