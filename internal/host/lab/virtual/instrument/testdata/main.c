/* Runs work and prints its result and what it counts: 0, unless it is rewritten. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

uint64_t tt_work[7];
uint64_t work(uint64_t seed);

int main(int argc, char **argv)
{
	uint64_t counts[7], seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;

	/* The C library calls the memcpy and memset beside work, too. */
	for (int i = 0; i < 7; i++)
		counts[i] = -tt_work[i];
	uint64_t result = work(seed);
	for (int i = 0; i < 7; i++)
		counts[i] += tt_work[i];
	printf("%016llx\n", (unsigned long long)result);
	for (int i = 0; i < 7; i++)
		printf("%llu ", (unsigned long long)counts[i]);
	printf("\n");
	return 0;
}
