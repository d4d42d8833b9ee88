// The type of `input`, `result` and `progress`: any JSON value, stored and returned unchanged.

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
