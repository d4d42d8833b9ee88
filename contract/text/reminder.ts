/** Coding agents add parts of their own to what a person wrote. */
export const REMINDER = /^\s*<system-reminder>[\s\S]*<\/system-reminder>\s*$/;
