export const rangeText = ({ from, to }: { from: string | null; to: string | null }): string =>
  from === null && to === null ? 'everything' : `${from ?? 'beginning'} .. ${to ?? 'end'}`;
