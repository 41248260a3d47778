// SPDX-License-Identifier: GPL-2.0-or-later
#include "helpers/common/number.h"

char *number_text(uint64_t n, char *to)
{
	char digits[NUMBER_SIZE];
	int i = 0;

	do
		digits[i++] = '0' + n % 10;
	while (n /= 10);
	while (i)
		*to++ = digits[--i];
	*to = '\0';
	return to;
}
