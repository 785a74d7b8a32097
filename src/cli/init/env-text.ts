import { SluiceError } from '../../errors.ts';

/** The text of a `.env` file with these settings: lines that set them are replaced, all others stay as they are. */
export function withSettings(text: string, settings: Readonly<Record<string, string>>): string {
  const lines = text === '' ? [] : text.replace(/\n$/, '').split('\n');
  for (const [name, value] of Object.entries(settings)) {
    const line = `${name}=${quoted(name, value)}`;
    const at = lines.findIndex(each => new RegExp(`^\\s*(?:export\\s+)?${name}\\s*=`).test(each));
    if (at >= 0) lines[at] = line;
    else lines.push(line);
  }
  return `${lines.join('\n')}\n`;
}

/** As Node reads it: without quotes, `#` begins a comment; within double quotes, `\n` is a line end. */
function quoted(name: string, value: string): string {
  if (/^[\w.:/@%+~-]*$/.test(value)) return value;
  const quote = ["'", '`', '"'].find(each => !value.includes(each));
  if (quote !== undefined && !(quote === '"' && value.includes('\\'))) return `${quote}${value}${quote}`;
  throw new SluiceError('usage', `${name} holds all three kinds of quotes, which .env cannot hold.`, {
    next: `Set it in the environment: export ${name}=...`,
  });
}
