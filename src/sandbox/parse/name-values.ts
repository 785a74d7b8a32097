/** The parts of `name=value,name=value`, empty ones left out; what follows a second `=` belongs to the value. */
export function pairsOf(text: string): [name: string, value: string][] {
  return text
    .split(',')
    .map(part => part.trim())
    .filter(part => part !== '')
    .map(part => {
      const [name = '', ...value] = part.split('=');
      return [name.trim(), value.join('=').trim()];
    });
}
