import { isCancel, password, text } from '@clack/prompts';
import { SluiceError } from '../../errors.ts';

export interface Answers {
  readonly url: string;
  readonly key: string;
}

/** Asks on the terminal for what is not given; the key is not shown as it is typed. */
export async function ask(given: Partial<Answers>): Promise<Answers> {
  const required = (value: string | undefined) => (value?.trim() ? undefined : 'Needed to read the source.');
  const url =
    given.url ??
    (await text({
      message: 'Address of the installation',
      placeholder: 'https://books.example.com',
      validate: required,
    }));
  if (isCancel(url)) throw cancelled();
  const key =
    given.key ?? (await password({ message: 'API key (Settings, API Access)', mask: '*', validate: required }));
  if (isCancel(key)) throw cancelled();
  return { url: url.trim(), key: key.trim() };
}

const cancelled = (): SluiceError => new SluiceError('stopped', 'Stopped; nothing was written.');
