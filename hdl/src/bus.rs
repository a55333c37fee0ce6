//! Buses: what one block hands another, each declared once.
//!
//! A word passes in each clock in which `valid` and `ready` are both high, where a bus has both; `valid` does not wait for
//! `ready`, and what is offered stays until it is taken.

mod axil;
mod axis;
mod bulk;
mod bulk_line;
mod bulk_read;
mod bulk_work;
mod completion;
mod dma;
mod in_flight;
mod link;
mod memory;
mod phy;
mod queue_pair;
mod receive;
mod reduce;
mod region;
mod registers;
mod schedule;
mod send;
mod stream;
mod tlp;
mod us;
mod window;

pub use axil::{AxiLiteIn, AxiLiteOut};
pub use axis::{AxisIn, AxisOut, AxisRxIn, AxisRxOut};
pub use bulk::{
    BulkCancelIn, BulkCancelOut, BulkEndIn, BulkEndOut, BulkMessageIn, BulkMessageOut,
    BulkPacketIn, BulkPacketOut, BulkRequestIn, BulkRequestOut, BulkSettingsIn, BulkSettingsOut,
    BulkStartedIn, BulkStartedOut, CongestionSaidIn, CongestionSaidOut,
};
pub use bulk_line::{
    BulkArrival, BulkArrivalsIn, BulkArrivalsOut, BulkDeparture, BulkDeparturesIn,
    BulkDeparturesOut, ConnectAsked, ConnectHow, ConnectsAskedIn, ConnectsAskedOut,
    ConnectsDecidedIn, ConnectsDecidedOut, ConnectsJudgedIn, ConnectsJudgedOut, Telling,
    TellingsIn, TellingsOut, WindowOpened, WindowRecord, WindowRecordsIn, WindowRecordsOut,
    WindowsOpenedIn, WindowsOpenedOut,
};
pub use bulk_read::{
    ReadAccess, ReadAccessesIn, ReadAccessesOut, ReadAnswer, ReadAnswersIn, ReadAnswersOut,
    ReadRefusal, ReadRefusalsIn, ReadRefusalsOut, ReadServed, ReadsAnsweredIn, ReadsAnsweredOut,
    ReadsIn, ReadsOut, ReadsServedIn, ReadsServedOut, WindowClosedIn, WindowClosedOut,
};
pub use bulk_work::{
    BulkSource, BulkSourcesIn, BulkSourcesOut, BulkUnreadIn, BulkUnreadOut, BulkWork, BulkWorksIn,
    BulkWorksOut,
};
pub use completion::{CompletionIn, CompletionOut, Ended, EndedPair, InterruptIn, InterruptOut};
pub use dma::{
    DmaDoneIn, DmaDoneOut, DmaJob, DmaReadWord, DmaReadWordsIn, DmaReadWordsOut, DmaRequestIn,
    DmaRequestOut, DmaWord, DmaWordsIn, DmaWordsOut,
};
pub use in_flight::{PlaceBitIn, PlaceBitOut};
pub use link::{LinkOfferIn, LinkOfferOut, LinkUnitIn, LinkUnitOut};
pub use memory::{RamReadIn, RamReadOut, RamWriteIn, RamWriteOut};
pub use phy::{PhyIn, PhyOut};
pub use queue_pair::{
    CardPostIn, CardPostOut, ContextIn, ContextOut, ContextWord, DoorbellIn, DoorbellOut, FlushIn,
    FlushOut, OneSidedWindow, QueuePairIn, QueuePairOut, ReserveIn, ReserveOut, RingDoorbell,
    RingIndexIn, RingIndexOut, RingPosition, UseEndsIn, UseEndsOut, WindowSetIn, WindowSetOut,
};
pub use receive::{
    AckArrived, AckOrClaimIn, AckOrClaimOut, AckTakenIn, AckTakenOut, Arrived, Notice, NotifyIn,
    NotifyOut, RequestIn, RequestOut,
};
pub use reduce::{
    ReduceAnswer, ReduceAnsweredIn, ReduceAnsweredOut, ReduceAnswersIn, ReduceAnswersOut,
    ReduceArrivalsIn, ReduceArrivalsOut, ReduceJoinIn, ReduceJoinOut, ReduceKey, ReduceLeaveIn,
    ReduceLeaveOut, ReduceMember, ReduceResultIn, ReduceResultOut, ReduceRow, ReduceRowsIn,
    ReduceRowsOut, ReduceVerdictsIn, ReduceVerdictsOut, ReduceWorksIn, ReduceWorksOut,
};
pub use region::{
    Access, AccessOfOthers, LookupIn, LookupOut, LookupRightsIn, LookupRightsOut, Region,
    RegionSetIn, RegionSetOut, VerdictIn, VerdictOut,
};
pub use registers::{MoreRegistersIn, MoreRegistersOut, RegistersIn, RegistersOut};
pub use schedule::{
    BlockStartIn, BlockStartOut, BlockToSend, GrantStartIn, GrantStartOut, GrantToTell,
    GroupBindingIn, GroupBindingOut, GroupPair, GroupQueueIn, GroupQueueOut, HostTellIn,
    HostTellOut, HostTold, ScheduleAnswerIn, ScheduleAnswerOut, ScheduleCommandIn,
    ScheduleCommandOut, ScheduleDoneIn, ScheduleDoneOut, ScheduleEnd, ScheduleEventIn,
    ScheduleEventOut,
};
pub use send::{
    Ack, AckToSendIn, AckToSendOut, PayloadIn, PayloadOut, PayloadWord, SendHeaderIn,
    SendHeaderOut, ToSend,
};
pub use stream::{FrameWord, FramesIn, FramesOut, StreamIn, StreamOut};
pub use tlp::{
    TlpRxCompletionIn, TlpRxCompletionOut, TlpRxRequestIn, TlpRxRequestOut, TlpTxCompletionIn,
    TlpTxCompletionOut, TlpTxReadIn, TlpTxReadOut, TlpTxWriteIn, TlpTxWriteOut,
};
pub use us::{UsAxisIn, UsAxisOut};
pub use window::{
    Transfer, TransferEndIn, TransferEndOut, WindowAnswer, WindowMessageIn, WindowMessageOut,
};
