const TRUE = /^(?:true|yes|y|ok|on|success(?:ful)?|[1-9]\d*)$/i;
const FALSE = /^(?:false|no|n|off|none|null|0+)?$/i;

/** Whether a `success` field denies success: whatever is not some spelling of true. An absent field says nothing. */
export function deniesSuccess(success: unknown): boolean {
  if (success === undefined || success === true) return false;
  if (typeof success === 'number') return success === 0;
  return typeof success !== 'string' || !TRUE.test(success.trim());
}

/** Whether an `error` or `errors` field holds an error: not an empty value, in any spelling, nor a list or object of such values only. */
export function holdsError(error: unknown): boolean {
  if (error === null || typeof error !== 'object')
    return typeof error === 'string' ? !FALSE.test(error.trim()) : Boolean(error);
  return Object.values(error).some(holdsError);
}
