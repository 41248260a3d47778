// SPDX-License-Identifier: GPL-2.0-or-later
#include "fit.h"

#include <langinfo.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>
#include <wctype.h>

static bool fit_utf8(void)
{
	return !strcmp(nl_langinfo(CODESET), "UTF-8");
}

static size_t fit_bytes(char *out, size_t length, size_t size, const char *bytes, size_t n)
{
	if (length + n >= size)
		return length;
	memcpy(out + length, bytes, n);
	out[length + n] = '\0';
	return length + n;
}

/* Characters without a form that change how others are shown: marks and turns of direction. */
static bool fit_turns(wchar_t c)
{
	return (c >= 0x200b && c <= 0x200f) || (c >= 0x202a && c <= 0x202e) ||
	       (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || c == 0x061c;
}

/* One character of the text: how many bytes it has, and columns it takes. 0 bytes: the end. */
static size_t fit_next(const char *text, mbstate_t *state, int *columns)
{
	wchar_t c;
	size_t n = mbrtowc(&c, text, strlen(text), state);

	if (!*text || n == 0)
		return 0;
	if (n == (size_t)-1 || n == (size_t)-2) {
		memset(state, 0, sizeof(*state));
		*columns = -1;
		return 1;
	}
	*columns = iswprint(c) && !fit_turns(c) ? wcwidth(c) : -1;
	return n;
}

unsigned int fit_width(const char *text)
{
	mbstate_t state = { 0 };
	unsigned int width = 0;
	int columns;
	size_t n;

	for (; (n = fit_next(text, &state, &columns)); text += n)
		width += columns < 0 ? 1 : columns;
	return width;
}

size_t fit_line(const char *text, unsigned int columns)
{
	mbstate_t state = { 0 };
	size_t at = 0, space = 0, indent = strspn(text, " "), n;
	unsigned int used = 0;
	int wide;

	for (; text[at] != '\n' && (n = fit_next(text + at, &state, &wide)); at += n) {
		if (text[at] == ' ' && at >= indent)
			space = at;
		used += wide < 0 ? 1 : wide;
		if (at && used > columns)
			return space ?: at;
	}
	return at;
}

static size_t fit_spaces(char *out, size_t length, size_t size, unsigned int columns)
{
	while (columns--)
		length = fit_bytes(out, length, size, " ", 1);
	return length;
}

size_t fit_add(char *out, size_t length, size_t size, const char *text, unsigned int columns,
	       enum fit side)
{
	const char *ellipsis = fit_utf8() ? "…" : "~";
	unsigned int width = fit_width(text), room = width > columns ? columns - 1 : columns;
	mbstate_t state = { 0 };
	unsigned int used = 0;
	int wide;
	size_t n;

	if (!columns)
		return length;
	if (side == FIT_RIGHT && width < columns)
		length = fit_spaces(out, length, size, columns - width);
	for (; (n = fit_next(text, &state, &wide)); text += n) {
		const unsigned int takes = wide < 0 ? 1 : wide;

		if (used + takes > room)
			break;
		length = wide < 0 ? fit_bytes(out, length, size, "?", 1)
				  : fit_bytes(out, length, size, text, n);
		used += takes;
	}
	if (width > columns) {
		length = fit_bytes(out, length, size, ellipsis, strlen(ellipsis));
		used++;
	}
	if (side == FIT_LEFT && used < columns)
		length = fit_spaces(out, length, size, columns - used);
	return length;
}

size_t fit_bar(char *out, size_t length, size_t size, double part, double whole,
	       unsigned int columns)
{
	static const char *const eighths[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	double of = whole > 0 ? part / whole : part > 0;
	unsigned int filled, used = 0;

	of = of > 0 ? of : 0; /* no number, too */
	filled = lround((of < 1 ? of : 1) * columns * 8);
	for (; used < filled / 8; used++)
		length = fit_bytes(out, length, size, fit_utf8() ? "█" : "#", fit_utf8() ? 3 : 1);
	if (fit_utf8() && filled % 8) {
		length = fit_bytes(out, length, size, eighths[filled % 8], 3);
		used++;
	}
	return fit_spaces(out, length, size, columns - used);
}
