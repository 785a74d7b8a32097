import type { SourceConfig } from '../../config/config.ts';
import { SluiceError } from '../../errors.ts';
import { didYouMean } from '../../nearest-name.ts';
import type { Settings } from './session.ts';

type Given = Omit<Settings, 'source' | 'sourceName' | 'timeZone' | 'schema'>;

/** The settings for one command: those of the source that `--source` names, otherwise of all. Kind `usage` for an unknown name. */
export function selectSettings(given: Given, named: string | undefined): Settings {
  const known = given.sources.map(source => source.name);
  const names = known.join(', ');
  const sources = given.sources.filter(source => named === undefined || source.name === named);
  if (sources.length === 0) {
    const near = didYouMean(named ?? '', known);
    throw new SluiceError('usage', `Unknown source "${named}"${near}.`, { next: `Sources: ${names}.` });
  }
  const single = (): SourceConfig => {
    const [source] = sources;
    if (source && sources.length === 1) return source;
    throw new SluiceError('usage', 'This command works on one source, and there are several.', {
      next: `Name one with --source: ${names}.`,
    });
  };
  return {
    ...given,
    sources,
    get source() {
      return single().settings;
    },
    get sourceName() {
      return single().name;
    },
    get timeZone() {
      return single().timeZone;
    },
    get schema() {
      return single().schema;
    },
  };
}
