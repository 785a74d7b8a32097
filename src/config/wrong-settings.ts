import { SluiceError } from '../errors.ts';

/** One error that lists every wrong setting. */
export function wrongSettings(problems: readonly string[]): SluiceError {
  const [first = ''] = problems;
  const single = problems.length === 1;
  const message = single
    ? `A setting is wrong: ${first}`
    : [`${problems.length} settings are wrong:`, ...problems.map(problem => `  ${problem}`)].join('\n');
  return new SluiceError('configuration', message, {
    next: `Correct ${single ? 'it' : 'them'} in the environment, in .env or in the sources file. Nothing was started.`,
  });
}
