// What a client may put into `input`, `result` and `progress`: any JSON value, kept and given back as it is.

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
