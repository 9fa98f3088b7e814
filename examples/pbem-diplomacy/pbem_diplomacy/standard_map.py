"""The standard board as plain facts: provinces, borders, and the position of spring 1901.

A province is a line: its code, its kind, its name; then perhaps its split coasts, and `*` for a centre with the power
whose home it is. A border is a line: a place, and those to which a unit could move from it.
"""

from __future__ import annotations

from typing import Final

PROVINCES: Final = """
ADR; sea; Adriatic Sea
AEG; sea; Aegean Sea
ALB; coast; Albania
ANK; coast; Ankara; ; *TURKEY
APU; coast; Apulia
ARM; coast; Armenia
BAL; sea; Baltic Sea
BAR; sea; Barents Sea
BEL; coast; Belgium; ; *
BER; coast; Berlin; ; *GERMANY
BLA; sea; Black Sea
BOH; land; Bohemia
BOT; sea; Gulf of Bothnia
BRE; coast; Brest; ; *FRANCE
BUD; land; Budapest; ; *AUSTRIA
BUL; coast; Bulgaria; EC SC; *
BUR; land; Burgundy
CLY; coast; Clyde
CON; coast; Constantinople; ; *TURKEY
DEN; coast; Denmark; ; *
EAS; sea; Eastern Mediterranean
EDI; coast; Edinburgh; ; *ENGLAND
ENG; sea; English Channel
FIN; coast; Finland
GAL; land; Galicia
GAS; coast; Gascony
GRE; coast; Greece; ; *
HEL; sea; Helgoland Bight
HOL; coast; Holland; ; *
ION; sea; Ionian Sea
IRI; sea; Irish Sea
KIE; coast; Kiel; ; *GERMANY
LON; coast; London; ; *ENGLAND
LVN; coast; Livonia
LVP; coast; Liverpool; ; *ENGLAND
LYO; sea; Gulf of Lyon
MAO; sea; Mid-Atlantic Ocean
MAR; coast; Marseilles; ; *FRANCE
MOS; land; Moscow; ; *RUSSIA
MUN; land; Munich; ; *GERMANY
NAF; coast; North Africa
NAO; sea; North Atlantic Ocean
NAP; coast; Naples; ; *ITALY
NTH; sea; North Sea
NWG; sea; Norwegian Sea
NWY; coast; Norway; ; *
PAR; land; Paris; ; *FRANCE
PIC; coast; Picardy
PIE; coast; Piedmont
POR; coast; Portugal; ; *
PRU; coast; Prussia
ROM; coast; Rome; ; *ITALY
RUH; land; Ruhr
RUM; coast; Rumania; ; *
SER; land; Serbia; ; *
SEV; coast; Sevastopol; ; *RUSSIA
SIL; land; Silesia
SKA; sea; Skagerrak
SMY; coast; Smyrna; ; *TURKEY
SPA; coast; Spain; NC SC; *
STP; coast; St Petersburg; NC SC; *RUSSIA
SWE; coast; Sweden; ; *
SYR; coast; Syria
TRI; coast; Trieste; ; *AUSTRIA
TUN; coast; Tunis; ; *
TUS; coast; Tuscany
TYR; land; Tyrolia
TYS; sea; Tyrrhenian Sea
UKR; land; Ukraine
VEN; coast; Venice; ; *ITALY
VIE; land; Vienna; ; *AUSTRIA
WAL; coast; Wales
WAR; land; Warsaw; ; *RUSSIA
WES; sea; Western Mediterranean
YOR; coast; Yorkshire
"""

ARMY: Final = """
ALB: GRE SER TRI
ANK: ARM CON SMY
APU: NAP ROM VEN
ARM: ANK SEV SMY SYR
BEL: BUR HOL PIC RUH
BER: KIE MUN PRU SIL
BOH: GAL MUN SIL TYR VIE
BRE: GAS PAR PIC
BUD: GAL RUM SER TRI VIE
BUL: CON GRE RUM SER
BUR: BEL GAS MAR MUN PAR PIC RUH
CLY: EDI LVP
CON: ANK BUL SMY
DEN: KIE SWE
EDI: CLY LVP YOR
FIN: NWY STP SWE
GAL: BOH BUD RUM SIL UKR VIE WAR
GAS: BRE BUR MAR PAR SPA
GRE: ALB BUL SER
HOL: BEL KIE RUH
KIE: BER DEN HOL MUN RUH
LON: WAL YOR
LVN: MOS PRU STP WAR
LVP: CLY EDI WAL YOR
MAR: BUR GAS PIE SPA
MOS: LVN SEV STP UKR WAR
MUN: BER BOH BUR KIE RUH SIL TYR
NAF: TUN
NAP: APU ROM
NWY: FIN STP SWE
PAR: BRE BUR GAS PIC
PIC: BEL BRE BUR PAR
PIE: MAR TUS TYR VEN
POR: SPA
PRU: BER LVN SIL WAR
ROM: APU NAP TUS VEN
RUH: BEL BUR HOL KIE MUN
RUM: BUD BUL GAL SER SEV UKR
SER: ALB BUD BUL GRE RUM TRI
SEV: ARM MOS RUM UKR
SIL: BER BOH GAL MUN PRU WAR
SMY: ANK ARM CON SYR
SPA: GAS MAR POR
STP: FIN LVN MOS NWY
SWE: DEN FIN NWY
SYR: ARM SMY
TRI: ALB BUD SER TYR VEN VIE
TUN: NAF
TUS: PIE ROM VEN
TYR: BOH MUN PIE TRI VEN VIE
UKR: GAL MOS RUM SEV WAR
VEN: APU PIE ROM TRI TUS TYR
VIE: BOH BUD GAL TRI TYR
WAL: LON LVP YOR
WAR: GAL LVN MOS PRU SIL UKR
YOR: EDI LON LVP WAL
"""

FLEET: Final = """
ADR: ALB APU ION TRI VEN
AEG: BUL/SC CON EAS GRE ION SMY
ALB: ADR GRE ION TRI
ANK: ARM BLA CON
APU: ADR ION NAP VEN
ARM: ANK BLA SEV
BAL: BER BOT DEN KIE LVN PRU SWE
BAR: NWG NWY STP/NC
BEL: ENG HOL NTH PIC
BER: BAL KIE PRU
BLA: ANK ARM BUL/EC CON RUM SEV
BOT: BAL FIN LVN STP/SC SWE
BRE: ENG GAS MAO PIC
BUL/EC: BLA CON RUM
BUL/SC: AEG CON GRE
CLY: EDI LVP NAO NWG
CON: AEG ANK BLA BUL/EC BUL/SC SMY
DEN: BAL HEL KIE NTH SKA SWE
EAS: AEG ION SMY SYR
EDI: CLY NTH NWG YOR
ENG: BEL BRE IRI LON MAO NTH PIC WAL
FIN: BOT STP/SC SWE
GAS: BRE MAO SPA/NC
GRE: AEG ALB BUL/SC ION
HEL: DEN HOL KIE NTH
HOL: BEL HEL KIE NTH
ION: ADR AEG ALB APU EAS GRE NAP TUN TYS
IRI: ENG LVP MAO NAO WAL
KIE: BAL BER DEN HEL HOL
LON: ENG NTH WAL YOR
LVN: BAL BOT PRU STP/SC
LVP: CLY IRI NAO WAL
LYO: MAR PIE SPA/SC TUS TYS WES
MAO: BRE ENG GAS IRI NAF NAO POR SPA/NC SPA/SC WES
MAR: LYO PIE SPA/SC
NAF: MAO TUN WES
NAO: CLY IRI LVP MAO NWG
NAP: APU ION ROM TYS
NTH: BEL DEN EDI ENG HEL HOL LON NWG NWY SKA YOR
NWG: BAR CLY EDI NAO NTH NWY
NWY: BAR NTH NWG SKA STP/NC SWE
PIC: BEL BRE ENG
PIE: LYO MAR TUS
POR: MAO SPA/NC SPA/SC
PRU: BAL BER LVN
ROM: NAP TUS TYS
RUM: BLA BUL/EC SEV
SEV: ARM BLA RUM
SKA: DEN NTH NWY SWE
SMY: AEG CON EAS SYR
SPA/NC: GAS MAO POR
SPA/SC: LYO MAO MAR POR WES
STP/NC: BAR NWY
STP/SC: BOT FIN LVN
SWE: BAL BOT DEN FIN NWY SKA
SYR: EAS SMY
TRI: ADR ALB VEN
TUN: ION NAF TYS WES
TUS: LYO PIE ROM TYS
TYS: ION LYO NAP ROM TUN TUS WES
VEN: ADR APU TRI
WAL: ENG IRI LON LVP
WES: LYO MAO NAF SPA/SC TUN TYS
YOR: EDI LON NTH
"""

YEAR: Final = 1901

UNITS: Final = """
AUSTRIA: A BUD, A VIE, F TRI
ENGLAND: F EDI, F LON, A LVP
FRANCE: F BRE, A MAR, A PAR
GERMANY: F KIE, A BER, A MUN
ITALY: F NAP, A ROM, A VEN
RUSSIA: A WAR, A MOS, F SEV, F STP/SC
TURKEY: F ANK, A CON, A SMY
"""
"""The units with which each power begins, on its home centres: only these have owners."""
