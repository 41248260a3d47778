// SPDX-License-Identifier: GPL-2.0-or-later
#include "clean.h"

#include <stdint.h>
#include <string.h>

/* Bytes of the character that begins here; 0: it is not UTF-8 (RFC 3629), or a control character. */
static size_t clean_length(const unsigned char *s)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint32_t c;
	size_t n;

	if (*s < 0x80)
		return *s >= ' ' && *s != 127;
	n = *s >= 0xf0 ? 4 : *s >= 0xe0 ? 3 : 2;
	if (*s < 0xc2 || *s > 0xf4)
		return 0;
	c = *s & (0x7f >> n);
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	/* C1 is for terminals, too; 0x2028 and what follows it change lines and their direction. */
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) || c < 0xa0 ||
	    (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069))
		return 0;
	return n;
}

bool clean_is(const char *text)
{
	for (size_t n; *text; text += n) {
		n = clean_length((const unsigned char *)text);
		if (!n)
			return false;
	}
	return true;
}

/* Returns where the text ends in out[]. */
static size_t clean_add(char *out, size_t size, size_t at, const char *text)
{
	for (size_t n; *text; text += n ? n : 1) {
		n = clean_length((const unsigned char *)text);
		if (at + (n ? n : 1) >= size)
			break;
		if (n)
			memcpy(out + at, text, n);
		else
			out[at] = '?';
		at += n ? n : 1;
	}
	return at;
}

char *clean_text(char *out, size_t size, const char *text)
{
	if (size)
		out[clean_add(out, size, 0, text)] = '\0';
	return out;
}

char *clean_lines(char *out, size_t size, const char *text)
{
	clean_text(out, size, text);
	/* a byte has become a byte */
	for (size_t i = 0; i < size && out[i]; i++)
		if (text[i] == '\n')
			out[i] = '\n';
	return out;
}

char *clean_words(char *out, size_t size, const char *const *words)
{
	size_t at = 0;

	if (!size)
		return out;
	for (size_t i = 1; words[0] && words[i]; i++) {
		const char *quote = !*words[i] || strchr(words[i], ' ') ? "'" : "";

		if (i > 1)
			at = clean_add(out, size, at, " ");
		at = clean_add(out, size, at, quote);
		at = clean_add(out, size, at, words[i]);
		at = clean_add(out, size, at, quote);
	}
	out[at] = '\0';
	return out;
}

/* Bytes but those that continue a character of UTF-8. */
size_t clean_columns(const char *text, size_t length)
{
	size_t n = 0;

	for (size_t i = 0; i < length; i++)
		n += (text[i] & 0xc0) != 0x80;
	return n;
}
