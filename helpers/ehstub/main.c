// SPDX-License-Identifier: GPL-2.0-or-later
/* The stub as the kernel starts it. `ehctl exec` is one itself: helpers/ehctl/main.c. */
#include "start.h"

int main(int argc, char **argv)
{
	return stub_start(argv);
}
