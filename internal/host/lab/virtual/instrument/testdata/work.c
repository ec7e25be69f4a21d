/*
 * What kernels do, in small: everything in here that can be counted wrongly, or
 * spoiled by an addition at the wrong place. It calls nothing outside.
 */
#include <stdint.h>
#include <stddef.h>
#include <emmintrin.h>

typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;
#define APART __attribute__((noinline, noclone))

static u64 state;
static APART u32 draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state >> 32;
}

void *memcpy(void *to, const void *from, size_t n)
{
	void *start = to;

	asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
	return start;
}

void *memset(void *to, int c, size_t n)
{
	void *start = to;

	asm volatile("rep; stosb" : "+D"(to), "+c"(n) : "a"(c) : "memory");
	return start;
}

static APART void fill(u64 *to, u64 value, size_t n)
{
	asm volatile("cld; rep\n\tstosq" : "+D"(to), "+c"(n) : "a"(value) : "memory");
}

/* The flags of the comparison are read behind the copy, which is counted. */
static APART int between(u32 *to, const u32 *from, size_t n, u64 a, u64 b)
{
	int less;

	asm volatile("cmpq %[b], %[a] /* rep movsb; */\n\t"
		     "rep movsl # ; rep movsq\n\t"
		     "setb %b[less]; movzbl %b[less], %[less]"
		     : "+D"(to), "+S"(from), "+c"(n), [less] "=&q"(less)
		     : [a] "r"(a), [b] "r"(b) : "memory", "cc");
	return less;
}

/* Labels of the same number, forwards and backwards, and jumps into the middle. */
static APART u64 labels(u64 n)
{
	u64 sum = 0;

	asm volatile("	test %[n],%[n]\n"
		     "	jz 3f; jmp 1f\n"
		     "	.align 16\n"
		     "1:	jmp 2f\n"
		     "	.align 16\n"
		     "2:	add %[n],%[sum]; dec %[n]\n"
		     "	jnz 2b\n"
		     "3:	lock; incq %[sum]\n"
		     "	lock addq $1, %[sum]\n"
		     "1:	subq $3, %[sum]\n"
		     "	ja 1b\n"
		     "	adcq $7, %[sum]\n"
		     : [n] "+r"(n), [sum] "+m"(sum) : : "cc", "memory");
	return sum;
}

/* Describes instructions as the kernel does; nothing may come between. */
static APART u64 described(const u64 *p, u64 add)
{
	u64 value;

	asm volatile("1:	mov %1, %0\n"
		     "2:\n"
		     ".pushsection \"__ex_table\",\"a\"\n"
		     ".balign 4\n"
		     ".long (1b) - .\n"
		     ".long (2b) - .\n"
		     ".long 20\n"
		     ".popsection\n"
		     "661:\n\tadd %2, %0\n662:\n"
		     ".skip -(((6651f-6641f)-(662b-661b)) > 0) * ((6651f-6641f)-(662b-661b)),0x90\n"
		     "663:\n"
		     ".pushsection .altinstructions,\"a\"\n"
		     " .long 661b - .\n .long 6641f - .\n .byte 663b-661b\n .byte 6651f-6641f\n"
		     ".popsection\n"
		     ".pushsection .altinstr_replacement, \"ax\"\n"
		     "6641:\n\tadd %2, %0\n6651:\n"
		     ".popsection\n"
		     : "=&r"(value) : "m"(*p), "r"(add) : "cc");
	return value;
}

static APART int goesto(u64 a, u64 b)
{
	asm goto("cmp %0, %1\n\tjb %l[less]\n\tje %l[same]" : : "r"(a), "r"(b) : "cc" : less, same);
	return 1;
less:
	return 2;
same:
	return 3;
}

static APART int carry(u64 *a, u64 b)
{
	int c;

	asm("addq %2, %1" : "=@ccc"(c), "+m"(*a) : "r"(b));
	return c;
}

static APART u64 chain(const u64 *p, int n)
{
	u64 sum = 0;

	for (int i = 0; i + 3 < n; i += 4)
		asm("addq 0*8(%1),%0\n\tadcq 1*8(%1),%0\n\tadcq 2*8(%1),%0\n\tadcq 3*8(%1),%0\n\tadcq $0,%0"
		    : "+r"(sum) : "r"(p + i), "m"(*(const u64(*)[4])(p + i)));
	return sum;
}

static APART unsigned __int128 wide(unsigned __int128 a, __int128 b, int by)
{
	unsigned __int128 r = a * (u64)b + (a >> (by & 127)) - (unsigned __int128)b;

	if (b < 0)
		r = ~r;
	if (r < a)
		r += 3;
	return r << (by & 63);
}

static APART int overflows(long a, long b, int c, int d)
{
	long sum, product;
	int small;

	return __builtin_add_overflow(a, b, &sum) + 2 * __builtin_mul_overflow(a, b, &product) +
	       4 * __builtin_sub_overflow(c, d, &small) + (sum > product) + (small == 3);
}

static APART int cases(u32 x, int depth)
{
	switch (x & 15) {
	case 0: return depth;
	case 1: return depth * 3;
	case 2: return depth ^ 5;
	case 3: return depth > 3 ? cases(x >> 4, depth - 1) : 4;
	case 4: return depth << (x & 7);
	case 5: return -depth;
	case 6: return depth / 3;
	case 7: return depth % 7;
	case 8: return cases(x >> 8, depth + 1) + 1;
	case 9: return depth & 9;
	case 10: return ~depth;
	case 11: return x > 100000000u;
	default: return depth >= 2 ? x : depth;
	}
}

/* A small machine, by jumps to addresses. */
static APART long interpret(const u8 *code)
{
	static const void *const to[] = { &&stop, &&add, &&twice, &&less, &&loop };
	long a = 1, n = 20;

	goto *to[*code++];
add:	a += 3; goto *to[*code++];
twice:	a *= 2; goto *to[*code++];
less:	a -= a > 1000 ? 999 : 1; goto *to[*code++];
loop:	if (n--) code -= 4; goto *to[*code++];
stop:	return a;
}

static APART int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

static APART u64 real(int n)
{
	double sum = 0, x = 0.5;
	float f = 1;
	int greater = 0;

	for (int i = 1; i < n; i++) {
		x = x * 3.7 * (1 - x);
		sum += _mm_cvtsd_f64(_mm_sqrt_sd(_mm_set_sd(x), _mm_set_sd(x))) / i;
		f = f * 1.01f + (float)i;
		greater += x > 0.5 ? 2 : sum < f;
		if (x != x)
			return 0;
	}
	long double l = sum;
	l = l > 2.0L ? l * 3.0L : l;
	return (u64)(l * 1e9L) + greater + (u64)f;
}

static APART size_t length(const char *s)
{
	const char *p = s;

	while (*p)
		p++;
	return p - s;
}

static APART int compare(const char *a, const char *b)
{
	for (; *a && *a == *b; a++, b++)
		;
	return (u8)*a - (u8)*b;
}

static APART int by_value(const u32 *a, const u32 *b) { return *a < *b ? -1 : *a > *b; }
static APART int by_end(const u32 *a, const u32 *b) { return (int)(*a & 255) - (int)(*b & 255); }

static APART void sort(u32 *v, int n, int (*order)(const u32 *, const u32 *))
{
	for (int i = 1; i < n; i++)
		for (int j = i; j > 0 && order(&v[j - 1], &v[j]) > 0; j--) {
			u32 t = v[j];
			v[j] = v[j - 1];
			v[j - 1] = t;
		}
}

static APART u32 crc(u32 c, const u8 *p, size_t n)
{
	while (n--) {
		c ^= *p++;
		for (int i = 0; i < 8; i++)
			c = c & 1 ? c >> 1 ^ 0xedb88320 : c >> 1;
	}
	return c;
}

#define ROTATE(x, n) ((x) << (n) | (x) >> (64 - (n)))
static APART u64 hash(const u8 *p, size_t n, u64 seed)
{
	u64 h = seed + 2870177450012600261u + n, k;

	for (; n >= 8; n -= 8, p += 8) {
		memcpy(&k, p, 8);
		h ^= ROTATE(k * 14029467366897019727u, 31) * 11400714785074694791u;
		h = ROTATE(h, 27) * 11400714785074694791u + 9650029242287828579u;
	}
	for (; n; n--, p++)
		h = ROTATE(h ^ *p * 2870177450012600261u, 11) * 11400714785074694791u;
	return h ^ h >> 33;
}

static APART size_t squeeze(u8 *to, const u8 *from, size_t n)
{
	static uint16_t table[256];
	u8 *out = to, *flags = NULL;
	int bit = 8;

	memset(table, 0, sizeof(table));
	for (size_t i = 0; i < n; ) {
		size_t at, run = 0;

		if (bit == 8)
			bit = 0, flags = out++, *flags = 0;
		if (i + 3 < n) {
			u32 h = (from[i] * 33 + from[i + 1] * 7 + from[i + 2]) & 255;
			at = table[h];
			table[h] = i;
			while (at < i && i + run < n && run < 255 && from[at + run] == from[i + run])
				run++;
		}
		if (run > 3) {
			*flags |= 1 << bit;
			*out++ = i - at;
			*out++ = (i - at) >> 8;
			*out++ = run;
			i += run;
		} else {
			*out++ = from[i++];
		}
		bit++;
	}
	return out - to;
}

static APART size_t expand(u8 *to, const u8 *from, size_t n)
{
	const u8 *end = from + n;
	u8 *out = to;

	while (from < end) {
		u8 flags = *from++;

		for (int bit = 0; bit < 8 && from < end; bit++, flags >>= 1)
			if (flags & 1) {
				size_t back = from[0] | from[1] << 8, run = from[2];

				for (from += 3; run--; out++)
					*out = out[-back];
			} else {
				*out++ = *from++;
			}
	}
	return out - to;
}

/* Loops that compilers turn into vectors, and shifts by nothing. */
static APART u64 vectors(const u32 *v, int n)
{
	u32 sum = 0, most = 0;
	u64 shifted = 0;

	for (int i = 0; i < n; i++)
		sum += v[i] * 3;
	for (int i = 0; i < n; i++)
		most = v[i] > most ? v[i] : most;
	for (int i = 0; i < n; i++)
		shifted += (shifted >> (v[i] & 63)) + ((u64)v[i] << (i & 3));
	for (int i = 0; i + 4 <= n; i += 4)
		sum += _mm_movemask_ps(_mm_castsi128_ps(_mm_loadu_si128((const __m128i *)(v + i))));
	return sum + most + shifted;
}

u64 work(u64 seed)
{
	static u8 text[600], small[900], again[900];
	static u32 numbers[40], copy[40];
	static u64 words[32];
	u64 r = 0;

	state = seed * 88172645463325252u + 1;
	for (int i = 0; i < 600; i++)
		text[i] = draw() % 5 + (i & 64 ? 'a' : 'm');
	for (int i = 0; i < 40; i++)
		numbers[i] = draw();
	fill(words, draw(), 32);
	for (int i = 0; i < 32; i += 3)
		words[i] = state * i;
	size_t n = squeeze(small, text, sizeof(text));
	r = hash(small, n, r) + expand(again, small, n);
	r += crc(~0u, again, 100);
	for (int i = 0; i < 600; i++)
		if (again[i] != text[i])
			return 0;
	for (int i = 0; i < 9; i++) {
		r = r * 31 + between(copy, numbers, i * 4, words[i], words[i + 1]);
		r = r * 31 + labels(i * 5);
		r = r * 31 + described(&words[i], r);
		r = r * 31 + goesto(i, 4);
		r = r * 31 + carry(&words[i], r);
		r = r * 31 + chain(words, 32);
		unsigned __int128 w = wide((unsigned __int128)r << 64 | words[i], -(__int128)words[i + 1] * i, i * 11);
		r = r * 31 + (u64)w + (u64)(w >> 64);
		r = r * 31 + overflows((long)r, words[i], numbers[i], numbers[i + 1]);
		r = r * 31 + cases(draw(), i) + cases(i, 5);
	}
	r += interpret((const u8 *)"\1\2\3\4\2\1\0");
	r += fibonacci(12) + real(60);
	r += length("the quick brown fox") + compare("abcdefgh", "abcdefgx") * 1000;
	sort(numbers, 40, by_value);
	r = r * 31 + crc(r, (u8 *)numbers, sizeof(numbers));
	sort(numbers, 40, by_end);
	r = r * 31 + crc(r, (u8 *)numbers, sizeof(numbers));
	return r + vectors(numbers, 39) + vectors(copy, 40);
}
