import { SluiceError } from '../errors.ts';
import type { Settings } from './cli.ts';
import type { NamedSource } from './source-settings.ts';

type Given = Omit<Settings, 'source' | 'sourceName' | 'timeZone' | 'schema'>;

/** The settings for one command: of the source that `--source` named, else of all. Kind `usage` for a name that is none. */
export function settingsFor(given: Given, named: string | undefined): Settings {
  const names = given.sources.map(source => source.name).join(', ');
  const sources = given.sources.filter(source => named === undefined || source.name === named);
  if (sources.length === 0)
    throw new SluiceError('usage', `There is no source "${named}".`, { next: `Sources: ${names}.` });
  const one = (): NamedSource => {
    const [source] = sources;
    if (source && sources.length === 1) return source;
    throw new SluiceError('usage', 'Which source?', { next: `Say one with --source: ${names}.` });
  };
  return {
    ...given,
    sources,
    get source() {
      return one().settings;
    },
    get sourceName() {
      return one().name;
    },
    get timeZone() {
      return one().timeZone;
    },
    get schema() {
      return one().schema;
    },
  };
}
