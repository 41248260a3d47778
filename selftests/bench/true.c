// SPDX-License-Identifier: GPL-2.0-or-later
/* The smallest program: what is left is the cost of exec itself. */
int main(void)
{
	return 0;
}
