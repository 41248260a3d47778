// SPDX-License-Identifier: GPL-2.0-or-later
#include "key.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

int key_make(struct key *key)
{
	uint8_t bytes[(sizeof(key->text) - 1) / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return errno ? -errno : -EIO;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(key->text + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

bool key_fits(const struct key *key, const char *text)
{
	const size_t n = sizeof(key->text) - 1;
	unsigned char differs = 0;

	if (!text || strlen(text) != n)
		return false;
	for (size_t i = 0; i < n; i++)
		differs |= (unsigned char)(key->text[i] ^ text[i]);
	return !differs;
}
