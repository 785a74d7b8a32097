/** Splits `name=value,name=value`. Empty parts are skipped; anything after a second `=` belongs to the value. */
export function splitNameValues(text: string): [name: string, value: string][] {
  return text
    .split(',')
    .map(part => part.trim())
    .filter(part => part !== '')
    .map(part => {
      const [name = '', ...value] = part.split('=');
      return [name.trim(), value.join('=').trim()];
    });
}
